/** The address of Redis (or Valkey), in the form of the client's options. */
export interface RedisAddress {
  readonly host?: string;
  readonly port?: number;
  /** Path of a Unix socket. */
  readonly path?: string;
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  readonly tls?: { readonly servername?: string };
  /** The sentinels to ask for the master; `name` is the master's name. */
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[];
  readonly name?: string;
  readonly role?: 'master';
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  readonly enableTLSForSentinelMode?: boolean;
  readonly failoverDetector?: boolean;
}

const FORMS =
  'redis://, rediss://, valkey://, valkeys://, unix:///path/to.sock or redis+sentinel://:password@one:26379,two:26379/name';
const KNOWN = /^(?:redis|valkey)s?(?:\+sentinel)?:\/\//;
const ENCODE =
  'cannot be parsed: percent-encode special characters in the password (@ is %40, / is %2F, # is %23, % is %25)';
const SENTINEL_PORT = 26_379;
const REDIS_PORT = 6_379;
const PORT_MAX = 65_535;

/**
 * Parses a REDIS_URL: `redis[s]://` or `valkey[s]://` with user, password, host, port and database; `unix:///run/redis.sock?db=1`;
 * `redis[s]+sentinel://user:password@host:26379,host:26379/name?db=1&sentinel_password=…`. Throws an Error whose message continues a
 * sentence that starts with the variable's name.
 */
export function redisAddress(text: string): RedisAddress {
  const [, scheme = '', userInfo = '', authority = '', path = '', query = ''] =
    /^([a-z+]+):\/\/([^@/?#]*@)?([^@/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(text) ?? [];
  if (KNOWN.test(text) && (scheme === '' || path.includes('@'))) {
    // a part of the password must not be taken for the host: hosts are logged
    throw new Error(ENCODE);
  }
  const kind = scheme.replace(/^valkey/, 'redis');
  const parameters = new URLSearchParams(query);
  const account = accountOf(userInfo);
  if (kind === 'unix') {
    return { ...account, path: decoded(path), ...database(parameters.get('db')) };
  }
  if (kind === 'redis' || kind === 'rediss') {
    const [host, port] = hostOf(authority, REDIS_PORT);
    const tls = kind === 'rediss' ? { tls: /^[\d.]+$|:/.test(host) ? {} : { servername: host } } : {};
    return { ...account, host, port, ...database(parameters.get('db') ?? path.slice(1)), ...tls };
  }
  if (kind === 'redis+sentinel' || kind === 'rediss+sentinel') {
    return {
      ...account,
      ...sentinelsOf(authority, path, parameters),
      ...(kind === 'rediss+sentinel' ? SENTINEL_TLS : {}),
    };
  }
  throw new Error(`must be a URL that starts with ${FORMS}`);
}

/** Returns the address for logs, without the password. */
export function redisPlace(address: RedisAddress): string {
  const sentinels = address.sentinels?.map(({ host, port }) => `${host}:${port}`).join(',');
  return sentinels ?? address.path ?? `${address.host}:${address.port}`;
}

const SENTINEL_TLS = { tls: {}, enableTLSForSentinelMode: true };

function accountOf(userInfo: string): Pick<RedisAddress, 'username' | 'password'> {
  const [username = '', password = ''] = userInfo.replace(/@$/, '').split(/:(.*)/s).map(decoded);
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
}

function sentinelsOf(authority: string, path: string, parameters: URLSearchParams): RedisAddress {
  const name = decoded(path.slice(1));
  if (name === '') {
    throw new Error('names no master: expected redis+sentinel://:password@one:26379,two:26379/name');
  }
  const username = parameters.get('sentinel_user');
  const password = parameters.get('sentinel_password');
  return {
    sentinels: authority.split(',').map((part) => {
      const [host, port] = hostOf(part, SENTINEL_PORT);
      return { host, port };
    }),
    name,
    role: 'master',
    failoverDetector: true,
    ...database(parameters.get('db')),
    ...(username !== null && { sentinelUsername: username }),
    ...(password !== null && { sentinelPassword: password }),
  };
}

function hostOf(authority: string, defaultPort: number): [string, number] {
  const [, host = '', port] = /^(\[[^\]]+\]|[^:,]+)(?::(\d+))?$/.exec(authority) ?? [];
  if (host === '') {
    throw new Error(
      authority.includes(',')
        ? 'names several hosts: give one address that always leads to the master, or its sentinels with redis+sentinel://'
        : `must be a URL that starts with ${FORMS}`,
    );
  }
  if (Number(port ?? defaultPort) > PORT_MAX) {
    throw new Error(`has an invalid port: ${port}`);
  }
  return [host.replace(/^\[|\]$/g, ''), Number(port ?? defaultPort)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(ENCODE);
  }
}

function database(text: string | null): { readonly db?: number } {
  if (text === null || text === '') {
    return {};
  }
  if (!/^\d+$/.test(text)) {
    throw new Error(`has an invalid database number: ${text}`);
  }
  return { db: Number(text) };
}
