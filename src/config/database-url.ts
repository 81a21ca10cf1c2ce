import { parseIntoClientConfig } from 'pg-connection-string';
import { ConfigError } from './config-error.ts';

type ClientConfig = ReturnType<typeof parseIntoClientConfig>;

/** Connection options of one Postgres server. Every pool and connection uses the same object. */
export type DatabaseAddress = Readonly<ClientConfig> & { readonly host: string };

/** The effective mode for each `sslmode`. `require`, `prefer` and `verify-ca` are verified in full: anyone could pose as the server. */
const TLS_MODES: Readonly<Record<string, string>> = {
  ...{ disable: 'disable', 'no-verify': 'no-verify', 'verify-full': 'verify-full' },
  ...{ require: 'verify-full', prefer: 'verify-full', 'verify-ca': 'verify-full' },
};
const PARTS = /^(postgres(?:ql)?:\/\/)([^@/?#]*@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/;
const PRIMARY = ['read-write', 'primary'];
const UNREADABLE =
  'cannot be parsed: percent-encode special characters in the password (@ is %40, # is %23) and give one port for each host';

/**
 * Returns the servers that a Postgres URL names, in order: one, or several of which one is the primary
 * (postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS). Every database connection uses this function, so that no two
 * parts of the code read the same URL differently. Throws ConfigError with the reason; the message never contains the password.
 */
export function databaseAddresses(text: string, variable = 'DATABASE_URL'): readonly DatabaseAddress[] {
  const refuse = (problem: string) => new ConfigError(`${variable} ${problem}`);
  const [, scheme, userInfo = '', authority = '', path = '', query = ''] = PARTS.exec(text) ?? [];
  if (scheme === undefined) {
    throw refuse(
      /^postgres(ql)?:\/\//.test(text)
        ? UNREADABLE
        : 'must be a URL that starts with postgres:// or postgresql://',
    );
  }
  const parameters = new URLSearchParams(query);
  settle(parameters, refuse);
  const hosts = (parameters.get('host') ?? authority).split(',');
  const ports = parameters.get('port')?.split(',') ?? [];
  if (hosts.length > 1 && ports.length > 1 && ports.length !== hosts.length) {
    throw refuse('must name one port for each host');
  }
  return hosts.map((host, index) => {
    const single = new URLSearchParams(parameters);
    const port = ports[index] ?? ports[0];
    if (parameters.has('host')) {
      single.set('host', host);
    }
    if (port !== undefined) {
      single.set('port', port);
    }
    const ownAuthority = parameters.has('host') ? authority.replace(/,.*/, '') : host;
    return addressOf(`${scheme}${userInfo}${ownAuthority}${path}?${single}`, refuse);
  });
}

const CONNECT_MS = 3_000;
const CONNECT_SECONDS_MAX = 60;

/**
 * Returns how long a connection to a Postgres URL's server may take, in ms: its `connect_timeout`, which is in seconds, otherwise 3 s. The
 * URL must be one that {@link databaseAddresses} reads.
 */
export function connectTimeoutMs(text: string): number {
  const [, , , , , query = ''] = PARTS.exec(text) ?? [];
  const seconds = new URLSearchParams(query).get('connect_timeout');
  return seconds === null ? CONNECT_MS : Number(seconds) * 1_000;
}

/** Returns whether a Postgres URL names more than one server. */
export function namesSeveralServers(text: string): boolean {
  const [, , , authority = '', , query = ''] = PARTS.exec(text) ?? [];
  return (new URLSearchParams(query).get('host') ?? authority).includes(',');
}

/** Returns whether a text is a Postgres URL as far as can be told before it is parsed: a list of servers is no URL in the strict sense. */
export function isDatabaseUrl(text: string): boolean {
  return namesSeveralServers(text) || URL.canParse(text);
}

/** Returns the role that a Postgres URL connects as, in whichever way it names it; undefined if it names none. */
export function databaseRole(text: string): string | undefined {
  const [, , userInfo = '', , , query = ''] = PARTS.exec(text) ?? [];
  const [user = ''] = userInfo.split(/[:@]/, 1);
  return new URLSearchParams(query).get('user') || decodeURIComponent(user) || undefined;
}

/** Returns whether nobody on the network path can listen: TLS, a Unix socket, or the same machine. */
export function isPrivateWay({ host, ssl }: DatabaseAddress): boolean {
  const isLocal = host.startsWith('/') || /^(localhost|127\.[\d.]+|::1)$/.test(host);
  return isLocal || (ssl !== undefined && ssl !== false);
}

/** Checks the parameters whose meaning differs from libpq's, and removes those that the client must not see. */
function settle(parameters: URLSearchParams, refuse: (problem: string) => ConfigError): void {
  const mode = parameters.get('sslmode');
  if (mode !== null) {
    const known = TLS_MODES[mode];
    if (known === undefined) {
      throw refuse(`has sslmode=${mode}; it must be one of ${Object.keys(TLS_MODES).join(', ')}`);
    }
    parameters.set('sslmode', known);
  }
  const attributes = parameters.get('target_session_attrs');
  if (attributes !== null && !PRIMARY.includes(attributes)) {
    throw refuse(
      `has target_session_attrs=${attributes}; only read-write is supported, because the ledger needs a primary`,
    );
  }
  const seconds = parameters.get('connect_timeout');
  if (seconds !== null && !(/^[1-9]\d?$/.test(seconds) && Number(seconds) <= CONNECT_SECONDS_MAX)) {
    throw refuse(
      `has connect_timeout=${seconds}; it must be a whole number of seconds from 1 to ${CONNECT_SECONDS_MAX}`,
    );
  }
  parameters.delete('connect_timeout');
  parameters.delete('target_session_attrs');
  parameters.delete('uselibpqcompat');
}

function addressOf(url: string, refuse: (problem: string) => ConfigError): DatabaseAddress {
  let address: ClientConfig;
  try {
    address = parseIntoClientConfig(url);
  } catch (error) {
    const { path } = error as Partial<Record<string, unknown>>;
    throw refuse(typeof path === 'string' ? `names a certificate that cannot be read: ${path}` : UNREADABLE);
  }
  const { host, user, database } = address;
  if (!host || !user || !database) {
    const missing = !host ? 'host' : !user ? 'user' : 'database';
    throw refuse(`has no ${missing}: expected postgres://user:password@host:5432/database`);
  }
  return { ...address, host };
}
