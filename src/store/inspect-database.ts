import { sharesSessions } from '../../migrations/transaction-pooler.ts';
import { whyUnsuitable } from '../../migrations/unsuitable-server.ts';
import { ConfigError, UnavailableError } from '../config/config-error.ts';
import { tlsAdvice, tlsRefusal } from '../lib/tls-refusal.ts';
import type { Database } from './database.ts';
import { isDatabaseOutage } from './database-outage.ts';
import type { PrimaryClient } from './primary-client.ts';

/**
 * Checks the server before anything is built on it: it is reachable, a primary, new enough and stores every character, and a connection
 * stays in one of its sessions. Returns warnings. Throws ConfigError for problems that only a human can solve, such as the certificate or
 * the password. When no address leads to a primary, throws the error of the last one: UnavailableError while the server is away.
 */
export async function inspectDatabase(database: Database): Promise<string[]> {
  const [first, second] = [await reachPrimary(database), database.openClient()];
  try {
    const reason = await whyUnsuitable(first);
    if (reason !== undefined) {
      throw new ConfigError(`DATABASE_URL: ${reason}`);
    }
    await second.connect();
    if (await sharesSessions(first, second)) {
      throw new ConfigError(
        'DATABASE_URL: this looks like a pooler in transaction mode, which breaks prepared statements, locks and LISTEN: use session mode, or connect to Postgres directly',
      );
    }
    return await warningsAbout(first);
  } finally {
    await Promise.allSettled([first.end(), second.end()]);
  }
}

const LOSES = 'a crash of the server can lose calls, charges and purchases that were confirmed; turn it on';
/** Values of the server's settings that work, but that operators should know of. */
const WARNINGS: readonly (readonly [name: string, value: string, words: string])[] = [
  ['fsync', 'off', `Postgres runs with fsync=off: ${LOSES}`],
  ['synchronous_commit', 'off', `Postgres runs with synchronous_commit=off: ${LOSES}`],
  [
    'server_encoding',
    'SQL_ASCII',
    "the database's encoding is SQL_ASCII, in which Postgres checks no text: restore it into one in UTF8",
  ],
];

async function warningsAbout(client: PrimaryClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string; value: string }>(
    'SELECT name, current_setting(name) AS value FROM unnest($1::text[]) name',
    [WARNINGS.map(([name]) => name)],
  );
  const values = new Map(rows.map(({ name, value }) => [name, value]));
  return WARNINGS.filter(([name, value]) => values.get(name) === value).map(([, , words]) => words);
}

/** Tries each address once: only connecting shows which of them is the primary. */
async function reachPrimary(database: Database): Promise<PrimaryClient> {
  for (let tries = 1; ; tries += 1) {
    const client = database.openClient();
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (tries >= database.servers.addressCount) {
        throw explain(error);
      }
    }
  }
}

const TRUST_IN_URL = 'to trust your own CA, add sslmode=verify-full&sslrootcert=/path/to/ca.pem';
/** Wrong user or password, no entry in pg_hba.conf, no such database, no right to connect to it. */
const REFUSED = ['28000', '28P01', '3D000', '42501'];

/** Says an error of connecting in one line: a ConfigError where waiting does not solve it. */
function explain(error: unknown): unknown {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const refusal = tlsRefusal(error);
  if (refusal !== undefined) {
    return new ConfigError(
      `DATABASE_URL: the TLS connection failed (${refusal}); ${tlsAdvice(error, TRUST_IN_URL)}`,
    );
  }
  if (message === 'The server does not support SSL connections') {
    return new ConfigError('DATABASE_URL: sslmode requires TLS, which this server does not offer');
  }
  if (REFUSED.includes(code ?? '')) {
    return new ConfigError(`DATABASE_URL: ${message}`);
  }
  return explainOutage(error);
}

/** Says in one line that the database is away or accepts no writes; returns other errors as they are. */
export function explainOutage(error: unknown): unknown {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return isDatabaseOutage(error)
    ? new UnavailableError(`DATABASE_URL: the database cannot be used at the moment: ${message || code}`)
    : error;
}
