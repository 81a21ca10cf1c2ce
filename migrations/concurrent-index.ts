import { type Client, escapeIdentifier } from 'pg';
import { inTransaction } from './in-transaction.ts';
import { isAboutLocks, type LockRetryPolicy, withPatience } from './lock-retry-policy.ts';
import type { ConcurrentIndex } from './migration.types.ts';

/**
 * A concurrent build waits for the end of every transaction that began before it, for instance of a backup. Nothing waits behind it, and
 * giving up discards its work, so it may wait for minutes: a quarter of an hour in total, less than deployments allow for a migration.
 */
const BUILD_PATIENCE: LockRetryPolicy = { timeoutMs: 5 * 60_000, tries: 3, pauseMs: 1_000 };

const NAME_BYTES_MAX = 63;

const OUR_SCHEMA = 'to_regnamespace(quote_ident(current_schema()))';

const DESCRIBE_TABLE = `
  SELECT relkind = 'p' AS "isPartitioned" FROM pg_class
   WHERE relnamespace = ${OUR_SCHEMA} AND relname = $1 AND relkind IN ('r', 'p')`;

const DESCRIBE_INDEX = `
  SELECT i.indisvalid AS "isValid", t.relname AS table
    FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid
   WHERE c.relnamespace = ${OUR_SCHEMA} AND c.relname = $1`;

/** Partitions without their part of an index. Partitions created during the build get it at once, under a name that Postgres chooses. */
const UNATTACHED_PARTITIONS = `
  SELECT p.relname AS name FROM pg_class index
    JOIN pg_index i ON i.indexrelid = index.oid JOIN pg_inherits h ON h.inhparent = i.indrelid JOIN pg_class p ON p.oid = h.inhrelid
   WHERE index.relnamespace = ${OUR_SCHEMA} AND index.relname = $1
     AND NOT EXISTS (SELECT 1 FROM pg_inherits part JOIN pg_index own ON own.indexrelid = part.inhrelid
                      WHERE part.inhparent = index.oid AND own.indrelid = p.oid)
   ORDER BY p.relname`;

const OLDEST_TRANSACTION = `
  SELECT pid, application_name AS application FROM pg_stat_activity
   WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
   ORDER BY age(backend_xmin) DESC LIMIT 1`;

/**
 * Builds an index while everyone keeps reading and writing. A valid index stays as it is. What an interrupted build left behind is
 * rebuilt (an INVALID index) or continued (partitions that are done). Expects the migration lock to be held by the client's session,
 * and no transaction to be open. Throws Postgres errors, and an Error that names the transaction it waited for in vain.
 */
export async function buildIndex(
  client: Client,
  index: ConcurrentIndex,
  patience: LockRetryPolicy = BUILD_PATIENCE,
): Promise<void> {
  const { rows } = await client.query<{ isPartitioned: boolean }>(DESCRIBE_TABLE, [index.table]);
  const [table] = rows;
  if (table === undefined) {
    throw new Error(`${index.name}: there is no table ${index.table}`);
  }
  await (table.isPartitioned ? buildPartitioned : buildPlain)(client, index, patience);
}

/** Drops the index if it exists. Calls wait for it: `migrateDown` is for development. */
export async function dropIndex(client: Client, { name }: ConcurrentIndex): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(`DROP INDEX IF EXISTS ${escapeIdentifier(name)}`);
  });
}

async function buildPlain(client: Client, index: ConcurrentIndex, patience: LockRetryPolicy): Promise<void> {
  const build = async () => {
    if ((await describeIndex(client, index))?.isValid) {
      return;
    }
    // set for the rest of the session, since these statements cannot run in a transaction
    await client.query(`SET lock_timeout = ${patience.timeoutMs}`);
    await client.query('SET statement_timeout = 0');
    await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${escapeIdentifier(index.name)}`);
    await client.query(createIndex(index, 'CONCURRENTLY', ''));
  };
  await withPatience(patience, build).catch(async (error: unknown) => {
    throw isAboutLocks(error) ? await waitedInVain(client, index, error) : error;
  });
}

/** Builds each partition's part separately. The parent's index becomes valid when the last part is attached. */
async function buildPartitioned(
  client: Client,
  index: ConcurrentIndex,
  patience: LockRetryPolicy,
): Promise<void> {
  if ((await describeIndex(client, index)) === undefined) {
    await inTransaction(client, async () => {
      await client.query(createIndex(index, '', 'ONLY'));
    });
  }
  while (!(await describeIndex(client, index))?.isValid) {
    const { rows } = await client.query<{ name: string }>(UNATTACHED_PARTITIONS, [index.name]);
    if (rows.length === 0) {
      throw new Error(
        `${index.name} is attached on every partition of ${index.table} but is not valid: drop it and migrate again`,
      );
    }
    for (const { name: partition } of rows) {
      const part = { ...index, name: nameOfPart(index, partition), table: partition };
      await buildIndex(client, part, patience);
      await inTransaction(client, async () => {
        await client.query(
          `ALTER INDEX ${escapeIdentifier(index.name)} ATTACH PARTITION ${escapeIdentifier(part.name)}`,
        );
      });
    }
  }
}

/** Returns the index of that name, if any. Throws an Error when it belongs to another table. */
async function describeIndex(
  client: Client,
  index: ConcurrentIndex,
): Promise<{ readonly isValid: boolean } | undefined> {
  const { rows } = await client.query<{ isValid: boolean; table: string }>(DESCRIBE_INDEX, [index.name]);
  const [found] = rows;
  if (found !== undefined && found.table !== index.table) {
    throw new Error(`${index.name} is an index of ${found.table}, not of ${index.table}`);
  }
  return found;
}

function createIndex(index: ConcurrentIndex, how: 'CONCURRENTLY' | '', scope: 'ONLY' | ''): string {
  const [name, table] = [escapeIdentifier(index.name), escapeIdentifier(index.table)];
  return `CREATE ${index.isUnique ? 'UNIQUE ' : ''}INDEX ${how} ${name} ON ${scope} ${table} ${index.definition}`;
}

function nameOfPart({ name, table }: ConcurrentIndex, partition: string): string {
  const part = name.startsWith(`${table}_`) ? partition + name.slice(table.length) : `${partition}_${name}`;
  if (Buffer.byteLength(part) > NAME_BYTES_MAX) {
    throw new Error(
      `${part} is longer than the ${NAME_BYTES_MAX} bytes that a name may have: shorten ${name}`,
    );
  }
  return part;
}

async function waitedInVain(client: Client, { name }: ConcurrentIndex, cause: unknown): Promise<Error> {
  const { rows } = await client.query<{ pid: number; application: string }>(OLDEST_TRANSACTION);
  const [oldest] = rows;
  const who = oldest && ` (the oldest is that of process ${oldest.pid}, "${oldest.application}")`;
  return new Error(
    `${name} waits for older transactions, which did not end in time${who ?? ''}: migrate again when they have`,
    { cause },
  );
}
