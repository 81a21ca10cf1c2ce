import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { Umzug } from 'umzug';
import { MIGRATIONS } from './catalog.ts';
import { buildIndex, dropIndex } from './concurrent-index.ts';
import { applyFunctions, forgetFunctions } from './functions.ts';
import { inTransaction } from './in-transaction.ts';
import type { Migration } from './migration.types.ts';
import { rightsOf } from './rights.ts';
import { rightsOfScaler } from './scaler-rights.ts';
import { SESSION_SETTINGS } from './session-settings.ts';
import { refuseTransactionPooler } from './transaction-pooler.ts';
import {
  explainTakenName,
  refuseForeignMigrations,
  UnsuitableDatabaseError,
  whyUnsuitable,
} from './unsuitable-server.ts';
import { rightsOfWorker } from './worker-rights.ts';

/** Session advisory lock that makes replicas migrate one after the other. The number only has to be unique to us. */
const MIGRATION_LOCK = 7_706_115_001;

/** Pause between attempts to take the lock. */
const LOCK_PAUSE_MS = 100;

const CONNECT_TIMEOUT_MS = 10_000;

export interface MigrateOptions {
  /** Connection URL of the role that owns the schema, or the options of such a connection. */
  readonly ownerUrl: string | ClientConfig;
  /** The role the application connects as. It is granted its rights unless it is the owner. */
  readonly applicationRole?: string;
  /** The role of workers that run engines and finish files. It is granted its rights when given. */
  readonly workerRole?: string;
  /** The role of the service that scales workers by waiting tasks. It is granted its rights when given. */
  readonly scalerRole?: string;
  /** Replaces {@link MIGRATIONS}. */
  readonly migrations?: readonly Migration[];
  /** Called once when another migration of the database has to end first. */
  readonly onWait?: () => void;
}

/**
 * Applies every pending migration, each in its own transaction or as indexes built alongside all traffic, then every function file
 * that changed, all in one transaction. Returns the names applied (`functions/<name>.sql` for the latter). Throws Postgres errors.
 */
export function migrateUp(options: MigrateOptions): Promise<string[]> {
  return withLockedClient(options, async (client) => {
    const { migrations = MIGRATIONS } = options;
    const applied = (await umzugOn(client, migrations).up().catch(unwrap)).map((migration) => migration.name);
    // a release newer than this build owns the functions, and knows which of its tables hold money: an older build must not replace that
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
      await client.query(rightsOfScaler(options.scalerRole, await schemaOf(client)));
    }
    return [...applied, ...functions];
  });
}

/**
 * Undoes migrations down to and including the named one (default: the newest). Returns the names undone. Afterwards the functions are
 * only partly those of that state, until the next `migrateUp` applies every file again.
 */
export function migrateDown(options: MigrateOptions, to?: string): Promise<string[]> {
  return withLockedClient(options, async (client) => {
    await forgetFunctions(client);
    const { migrations = MIGRATIONS } = options;
    const undone = await umzugOn(client, migrations).down(to === undefined ? {} : { to });
    return undone.map((migration) => migration.name);
  });
}

function namesOf(migrations: readonly Migration[]): string[] {
  return migrations.map((migration) => migration.name);
}

async function withLockedClient<T>(
  { ownerUrl, onWait }: MigrateOptions,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = clientOf(ownerUrl);
  await client.connect();
  try {
    await refuseUnsuitable(client);
    // a role's statement timeout is meant for calls, not for what walks whole tables
    await client.query(`SELECT set_config('statement_timeout', '0', false), ${SESSION_SETTINGS}`);
    await refuseTransactionPooler(client, clientOf(ownerUrl));
    await takeLock(client, onWait);
    await client.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
      name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    await refuseForeignMigrations(client);
    return await work(client);
  } finally {
    // ending the session releases the lock, whatever state it is in
    await client.end();
  }
}

function clientOf(ownerUrl: MigrateOptions['ownerUrl']): Client {
  const address = typeof ownerUrl === 'string' ? { connectionString: ownerUrl } : ownerUrl;
  const client = new Client({ ...address, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // a lost connection fails the current statement or the next one
  client.on('error', () => undefined);
  return client;
}

/**
 * Polls for the lock until it is free. A session that waited for it inside a statement would be an old transaction to the concurrent build
 * of an index, and each would wait for the other.
 */
async function takeLock(client: Client, onWait: (() => void) | undefined): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const { rows } = await client.query<{ isTaken: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS "isTaken"',
      [MIGRATION_LOCK],
    );
    if (rows[0]?.isTaken) {
      return;
    }
    if (attempt === 0) {
      onWait?.();
    }
    await sleep(LOCK_PAUSE_MS);
  }
}

/** Returns the schema that tables are created in, as a quoted identifier. */
async function schemaOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('SELECT quote_ident(current_schema()) AS name');
  return (rows[0] as { readonly name: string }).name;
}

/** Returns whether the database has migrations that are not in the list. */
async function isAhead(client: Client, migrations: readonly Migration[]): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM schema_migrations WHERE name <> ALL ($1)', [
    namesOf(migrations),
  ]);
  return rowCount !== 0;
}

/** Throws {@link UnsuitableDatabaseError} before anything is created, which would otherwise leave half a schema. */
async function refuseUnsuitable(client: Client): Promise<void> {
  const reason = await whyUnsuitable(client);
  if (reason !== undefined) {
    throw new UnsuitableDatabaseError(reason);
  }
}

/** Throws what Umzug reports, or why no attempt can succeed. */
function unwrap(error: unknown): never {
  const { cause } = error as { readonly cause?: unknown };
  throw explainTakenName(cause) ?? error;
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
      // each migration records itself, in its own transaction if it has one, so that a crash leaves both or neither
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
