import { Client } from 'pg';
import { Umzug } from 'umzug';
import { MIGRATIONS } from './catalog.ts';
import { applyFunctions, forgetFunctions } from './functions.ts';
import { inTransaction } from './in-transaction.ts';
import { rightsOf } from './rights.ts';
import { rightsOfScaler } from './scaler-rights.ts';
import { rightsOfWorker } from './worker-rights.ts';

/** Session advisory lock that makes replicas migrate one after the other. The number only has to be ours alone. */
const MIGRATION_LOCK = 7_706_115_001;

const CONNECT_TIMEOUT_MS = 10_000;
/** The oldest major version that the suite has passed on. */
const POSTGRES_OLDEST = 14;

export interface MigrateOptions {
  /** Connects as the role that owns the schema. */
  readonly ownerUrl: string;
  /** The role the application connects as; gets its rights when it is another role than the owner. */
  readonly applicationRole?: string;
  /** The role of workers that run engines and finish files; gets its rights when it is named. */
  readonly workerRole?: string;
  /** The role of what scales workers by waiting tasks; gets its rights when it is named. */
  readonly scalerRole?: string;
}

/**
 * Applies every pending migration, each in its own transaction, then every function file that changed, all in one.
 * Returns the names applied (`functions/<name>.sql` for the latter). Throws what Postgres throws.
 */
export function migrateUp(options: MigrateOptions): Promise<string[]> {
  return withLockedClient(options.ownerUrl, async (client) => {
    const applied = (await umzugOn(client).up()).map((migration) => migration.name);
    // a release that is newer than this build owns the functions: never replace them by older ones
    const functions = (await isAhead(client)) ? [] : await applyFunctions(client);
    if (options.applicationRole !== undefined && options.applicationRole !== client.user) {
      await client.query(rightsOf(options.applicationRole, await schemaOf(client)));
    }
    if (options.workerRole !== undefined) {
      await client.query(rightsOfWorker(options.workerRole, await schemaOf(client)));
    }
    if (options.scalerRole !== undefined) {
      await client.query(rightsOfScaler(options.scalerRole));
    }
    return [...applied, ...functions];
  });
}

/**
 * Undoes migrations down to and including the named one (default: the newest). Returns the names undone. The functions
 * are as before the next `migrateUp` only in part: it applies every file again.
 */
export function migrateDown(options: MigrateOptions, to?: string): Promise<string[]> {
  return withLockedClient(options.ownerUrl, async (client) => {
    await forgetFunctions(client);
    const undone = await umzugOn(client).down(to === undefined ? {} : { to });
    return undone.map((migration) => migration.name);
  });
}

/** Names of the migrations this build has, oldest first. */
export function migrationNames(): string[] {
  return MIGRATIONS.map((migration) => migration.name);
}

async function withLockedClient<T>(ownerUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await client.connect();
  try {
    await refuseOldServer(client);
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    return await work(client);
  } finally {
    // ending the session releases the lock, whatever state it is in
    await client.end();
  }
}

/** The schema that tables are made in, as an identifier. */
async function schemaOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('SELECT quote_ident(current_schema()) AS name');
  return (rows[0] as { readonly name: string }).name;
}

/** Whether the database has migrations that this build does not know. */
async function isAhead(client: Client): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM schema_migrations WHERE name <> ALL ($1)', [
    migrationNames(),
  ]);
  return rowCount !== 0;
}

/** Throws an Error on a server whose SQL is not enough: half a schema would be the alternative. */
async function refuseOldServer(client: Client): Promise<void> {
  const { rows } = await client.query<{ version: string; major: number }>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major`,
  );
  const [server] = rows;
  if (server !== undefined && server.major < POSTGRES_OLDEST) {
    throw new Error(`Postgres ${server.version} is too old: Tollgate needs ${POSTGRES_OLDEST} or newer`);
  }
}

function umzugOn(client: Client): Umzug<Client> {
  return new Umzug({
    context: client,
    logger: undefined,
    migrations: MIGRATIONS.map((migration) => ({
      name: migration.name,
      up: () =>
        step(client, migration.up, 'INSERT INTO schema_migrations (name) VALUES ($1)', migration.name),
      down: () =>
        step(client, migration.down, 'DELETE FROM schema_migrations WHERE name = $1', migration.name),
    })),
    storage: {
      executed: async () => {
        const { rows } = await client.query<{ name: string }>(
          'SELECT name FROM schema_migrations ORDER BY name',
        );
        return rows.map((row) => row.name);
      },
      // written in the migration's own transaction, so that a crash leaves both or neither
      logMigration: () => Promise.resolve(),
      unlogMigration: () => Promise.resolve(),
    },
  });
}

function step(client: Client, sql: string, record: string, name: string): Promise<void> {
  return inTransaction(client, async () => {
    await client.query(sql);
    await client.query(record, [name]);
  });
}
