import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Umzug } from 'umzug';
import { MIGRATIONS } from './catalog.ts';
import { buildIndex, dropIndex } from './concurrent-index.ts';
import { applyFunctions, forgetFunctions } from './functions.ts';
import { inTransaction } from './in-transaction.ts';
import type { Migration } from './migration.types.ts';
import { rightsOf } from './rights.ts';
import { rightsOfScaler } from './scaler-rights.ts';
import { rightsOfWorker } from './worker-rights.ts';

/** Session advisory lock that makes replicas migrate one after the other. The number only has to be ours alone. */
const MIGRATION_LOCK = 7_706_115_001;

/** Between two questions for the lock. */
const LOCK_PAUSE_MS = 100;

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
  /** Another list than {@link MIGRATIONS}. */
  readonly migrations?: readonly Migration[];
}

/**
 * Applies every pending migration, each in its own transaction or as indexes that are built beside all traffic, then every function file
 * that changed, all in one transaction. Returns the names applied (`functions/<name>.sql` for the latter). Throws what Postgres throws.
 */
export function migrateUp(options: MigrateOptions): Promise<string[]> {
  return withLockedClient(options.ownerUrl, async (client) => {
    const { migrations = MIGRATIONS } = options;
    const applied = (await umzugOn(client, migrations).up()).map((migration) => migration.name);
    // a release that is newer than this build owns the functions, and knows which of its tables are money's: nothing older replaces that
    if (await isAhead(client, migrations)) {
      return applied;
    }
    const functions = await applyFunctions(client);
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
    const { migrations = MIGRATIONS } = options;
    const undone = await umzugOn(client, migrations).down(to === undefined ? {} : { to });
    return undone.map((migration) => migration.name);
  });
}

/** Names of the migrations this build has, oldest first. */
export function migrationNames(): string[] {
  return namesOf(MIGRATIONS);
}

function namesOf(migrations: readonly Migration[]): string[] {
  return migrations.map((migration) => migration.name);
}

async function withLockedClient<T>(ownerUrl: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // a connection that is lost fails the statement under way or the next one
  client.on('error', () => undefined);
  await client.connect();
  try {
    await refuseOldServer(client);
    await takeLock(client);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    return await work(client);
  } finally {
    // ending the session releases the lock, whatever state it is in
    await client.end();
  }
}

/**
 * Asks for the lock until it is free. A session that waits for it inside a statement would be an old transaction for the concurrent build
 * of an index, and each would wait for the other.
 */
async function takeLock(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isTaken: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS "isTaken"',
      [MIGRATION_LOCK],
    );
    if (rows[0]?.isTaken) {
      return;
    }
    await sleep(LOCK_PAUSE_MS);
  }
}

/** The schema that tables are made in, as an identifier. */
async function schemaOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('SELECT quote_ident(current_schema()) AS name');
  return (rows[0] as { readonly name: string }).name;
}

/** Whether the database has migrations that are not in the list. */
async function isAhead(client: Client, migrations: readonly Migration[]): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM schema_migrations WHERE name <> ALL ($1)', [
    namesOf(migrations),
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

function umzugOn(client: Client, migrations: readonly Migration[]): Umzug<Client> {
  return new Umzug({
    context: client,
    logger: undefined,
    migrations: migrations.map((migration) => ({
      name: migration.name,
      up: () => apply(client, migration),
      down: () => undo(client, migration),
    })),
    storage: {
      executed: async () => {
        const { rows } = await client.query<{ name: string }>(
          'SELECT name FROM schema_migrations ORDER BY name',
        );
        return rows.map((row) => row.name);
      },
      // written by the migration itself, in its own transaction where it has one, so that a crash leaves both or neither
      logMigration: () => Promise.resolve(),
      unlogMigration: () => Promise.resolve(),
    },
  });
}

const RECORD = 'INSERT INTO schema_migrations (name) VALUES ($1)';
const FORGET = 'DELETE FROM schema_migrations WHERE name = $1';

async function apply(client: Client, migration: Migration): Promise<void> {
  if ('up' in migration) {
    await step(client, migration.up, RECORD, migration.name);
    return;
  }
  for (const index of migration.indexes) {
    await buildIndex(client, index);
  }
  await client.query(RECORD, [migration.name]);
}

async function undo(client: Client, migration: Migration): Promise<void> {
  if ('down' in migration) {
    await step(client, migration.down, FORGET, migration.name);
    return;
  }
  for (const index of migration.indexes) {
    await dropIndex(client, index);
  }
  await client.query(FORGET, [migration.name]);
}

function step(client: Client, sql: string, record: string, name: string): Promise<void> {
  return inTransaction(client, async () => {
    await client.query(sql);
    await client.query(record, [name]);
  });
}
