import type { ClientBase } from 'pg';

/** Tollgate cannot work in this database: another attempt would fail in the same way. The message says what to do. */
export class UnsuitableDatabaseError extends Error {
  override readonly name = 'UnsuitableDatabaseError';
}

/** A table, type, index, function or other object of that name exists. */
const EXISTS = ['42P07', '42710', '42723'];
/** The encodings in which every text can be stored. In SQL_ASCII, which Debian's `C` locale gives, the server only keeps the bytes. */
const ENCODINGS = ['UTF8', 'SQL_ASCII'];
const OWN_PLACE = 'Give Tollgate a database, or at least a schema, of its own';

/** The oldest major version on which the test suite passes. */
const POSTGRES_OLDEST = 14;

/** Returns why Tollgate cannot work in the database of a connection, and what to do about it; undefined if it can. */
export async function whyUnsuitable(client: ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ version: string; major: number; encoding: string; name: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::integer / 10000 AS major,
            current_setting('server_encoding') AS encoding, current_database() AS name`,
  );
  const [server] = rows;
  if (server === undefined) {
    return undefined;
  }
  const { version, major, encoding, name } = server;
  if (major < POSTGRES_OLDEST) {
    return `Postgres ${version} is too old: Tollgate needs ${POSTGRES_OLDEST} or newer`;
  }
  // a call could not be recorded when what a client or a provider wrote cannot be stored
  return ENCODINGS.includes(encoding)
    ? undefined
    : `the database ${name} has the encoding ${encoding}: Tollgate needs UTF8. Make another one: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`;
}

/** Throws {@link UnsuitableDatabaseError} where another program, such as one on Rails, keeps its own migrations under our table's name. */
export async function refuseForeignMigrations(client: ClientBase): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM pg_attribute WHERE attrelid = 'schema_migrations'::regclass AND attname IN ('name', 'applied_at')`,
  );
  if (rowCount !== 2) {
    throw new UnsuitableDatabaseError(`the table schema_migrations belongs to another program. ${OWN_PLACE}`);
  }
}

/** Returns what to say instead of an error of a migration that would create what another program has under that name. */
export function explainTakenName(error: unknown): UnsuitableDatabaseError | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: string; readonly message?: string };
  return EXISTS.includes(code ?? '')
    ? new UnsuitableDatabaseError(`${message} and belongs to another program. ${OWN_PLACE}`, { cause: error })
    : undefined;
}
