import { sharesSessions } from '../../migrations/transaction-pooler.ts';
import { ConfigError } from '../config/config-error.ts';
import { tlsRefusal } from '../lib/tls-refusal.ts';
import type { Database } from './database.ts';
import type { PrimaryClient } from './primary-client.ts';

const VERSION_MIN = 14;

/**
 * Checks the server before anything is built on it: it is reachable, a primary and new enough, and a connection stays in one of its
 * sessions. Throws ConfigError for problems that only a human can solve, such as the certificate or the password. When no address leads to
 * a primary, throws the error of the last one.
 */
export async function inspectDatabase(database: Database): Promise<void> {
  const [first, second] = [await reachPrimary(database), database.openClient()];
  try {
    const { version = 0 } = first.server ?? {};
    if (version < VERSION_MIN * 10_000) {
      throw new ConfigError(
        `DATABASE_URL: this server is Postgres ${Math.floor(version / 10_000)}; ${VERSION_MIN} or newer is needed`,
      );
    }
    await second.connect();
    if (await sharesSessions(first, second)) {
      throw new ConfigError(
        'DATABASE_URL: this looks like a pooler in transaction mode, which breaks prepared statements, locks and LISTEN: use session mode, or connect to Postgres directly',
      );
    }
  } finally {
    await Promise.allSettled([first.end(), second.end()]);
  }
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

/** Wrong user or password, no entry in pg_hba.conf, no such database, no right to connect to it. */
const REFUSED = ['28000', '28P01', '3D000', '42501'];

/** Turns an error that waiting does not solve into a one-line ConfigError. */
function explain(error: unknown): unknown {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  const refusal = tlsRefusal(error);
  if (refusal !== undefined) {
    return new ConfigError(
      `DATABASE_URL: the TLS connection failed (${refusal}); to trust your own CA, add sslmode=verify-full&sslrootcert=/path/to/ca.pem`,
    );
  }
  if (message === 'The server does not support SSL connections') {
    return new ConfigError('DATABASE_URL: sslmode requires TLS, which this server does not offer');
  }
  return REFUSED.includes(code ?? '') ? new ConfigError(`DATABASE_URL: ${message}`) : error;
}
