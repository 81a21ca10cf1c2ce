import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { MIGRATIONS } from '../../migrations/catalog.ts';
import { buildIndex } from '../../migrations/concurrent-index.ts';
import { migrateDown, migrateUp } from '../../migrations/migrate.ts';
import type { ConcurrentIndex, Migration } from '../../migrations/migration.types.ts';
import { eventually } from '../factories/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** Partitioned like the tables of the ledger, with rows in each partition. */
const tables: Migration = {
  name: '9001-tables',
  up: `
    CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner integer NOT NULL);
    INSERT INTO notes (owner) SELECT n % 100 FROM generate_series(1, 20000) n;
    CREATE TABLE visits (day integer NOT NULL, owner integer NOT NULL) PARTITION BY RANGE (day);
    CREATE TABLE visits_1 PARTITION OF visits FOR VALUES FROM (1) TO (2);
    CREATE TABLE visits_2 PARTITION OF visits FOR VALUES FROM (2) TO (3);
    CREATE TABLE visits_default PARTITION OF visits DEFAULT;
    INSERT INTO visits (day, owner) SELECT 1 + n % 3, n % 100 FROM generate_series(1, 6000) n;
  `,
  down: 'DROP TABLE visits; DROP TABLE notes;',
};
const ofNotes: ConcurrentIndex = { name: 'notes_owner', table: 'notes', definition: '(owner, id DESC)' };
const ofVisits: ConcurrentIndex = { name: 'visits_owner', table: 'visits', definition: '(owner)' };
const INDEXES = '9002-indexes';

let db: TestDatabase;
let owner: pg.Client;
let clients: pg.Client[];

beforeEach(async () => {
  clients = [];
  db = await createTestDatabase();
  await migrateUp({ ownerUrl: db.ownerUrl, migrations: [...MIGRATIONS, tables] });
  owner = await connect('owner');
});

afterEach(async () => {
  await Promise.all(clients?.map((client) => client.end().catch(() => undefined)) ?? []);
  await db?.close();
});

const listOf = (...indexes: readonly ConcurrentIndex[]) => ({
  ownerUrl: db.ownerUrl,
  migrations: [...MIGRATIONS, tables, { name: INDEXES, indexes }],
});

async function connect(name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: db.ownerUrl, application_name: name });
  client.on('error', () => undefined);
  await client.connect();
  clients.push(client);
  return client;
}

interface IndexState {
  readonly name: string;
  readonly valid: boolean;
  readonly oid: number;
}

/** Returns the indexes of `notes`, or of `visits` and its partitions. */
async function indexesOf(table: string): Promise<IndexState[]> {
  const { rows } = await owner.query<IndexState>(
    `SELECT c.relname AS name, i.indisvalid AS valid, c.oid::integer AS oid
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
      WHERE t.relname ~ $1 AND NOT i.indisprimary ORDER BY c.relname`,
    [`^${table}(_|$)`],
  );
  return rows;
}

async function count(table: string, where = 'true'): Promise<number> {
  const { rows } = await owner.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM ${table} WHERE ${where}`,
  );
  return rows[0]!.n;
}

/** Opens a transaction older than every build, like a backup. Builds wait for it. */
async function openTransaction(): Promise<{ readonly pid: number; end(): Promise<unknown> }> {
  const client = await connect('an-old-backup');
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return { pid: rows[0]!.pid, end: () => client.query('COMMIT') };
}

/** Returns the process id of the building session, once it waits for older transactions. */
function waitingBuild(): Promise<number> {
  return eventually(async () => {
    const { rows } = await owner.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'CREATE %INDEX CONCURRENTLY%' AND wait_event = 'virtualxid'`,
    );
    return rows[0]?.pid;
  });
}

/** Starts to migrate and terminates the building session, as a crash would. */
async function breakOff(list: ReturnType<typeof listOf>): Promise<void> {
  const migrated = migrateUp(list).catch((error: Error) => error.message);
  await owner.query('SELECT pg_terminate_backend($1)', [await waitingBuild()]);
  expect(await migrated).toMatch(/terminat/);
}

/** Writes one row after the other until it is stopped, and fails when a write waits too long. Returns the number of rows written. */
async function startWriter(table: 'notes' | 'visits'): Promise<() => Promise<number>> {
  const client = await connect('writes');
  await client.query(`SET lock_timeout = '2s'`);
  const statement =
    table === 'notes'
      ? 'INSERT INTO notes (owner) VALUES ($1)'
      : 'INSERT INTO visits (day, owner) SELECT 1 + $1::integer % 3, $1::integer';
  let isStopping = false;
  const running = (async () => {
    let written = 0;
    for (; !isStopping; written += 1) {
      await client.query(statement, [written % 100]);
    }
    return written;
  })();
  running.catch(() => undefined);
  return () => {
    isStopping = true;
    return running;
  };
}

/** Expects the index to find the existing rows. */
async function expectWhole(table: string): Promise<void> {
  await owner.query('SET enable_seqscan = off');
  const found = await count(table, 'owner = 7');
  await owner.query('RESET enable_seqscan; SET enable_indexscan = off; SET enable_indexonlyscan = off');
  await owner.query('SET enable_bitmapscan = off');
  expect(found).toBe(await count(table, 'owner = 7'));
  await owner.query('RESET ALL');
}

test('builds an index while rows are written, even while the build waits for a backup to end', async () => {
  const backup = await openTransaction();
  const stop = await startWriter('notes');
  const migrated = migrateUp(listOf(ofNotes));
  await waitingBuild();
  const before = await count('notes');
  await eventually(async () => (await count('notes')) > before + 20);
  await backup.end();
  expect(await migrated).toEqual([INDEXES]);
  expect(await stop()).toBeGreaterThan(20);
  expect(await indexesOf('notes')).toEqual([expect.objectContaining({ name: 'notes_owner', valid: true })]);
  await expectWhole('notes');
  expect(await migrateUp(listOf(ofNotes))).toEqual([]);
});

test('rebuilds the INVALID index of an aborted build', async () => {
  const backup = await openTransaction();
  await breakOff(listOf(ofNotes));
  const [left] = await indexesOf('notes');
  expect(left).toMatchObject({ name: 'notes_owner', valid: false });

  const stop = await startWriter('notes');
  const migrated = migrateUp(listOf(ofNotes));
  await backup.end();
  expect(await migrated).toEqual([INDEXES]);
  await stop();
  const [built] = await indexesOf('notes');
  expect(built).toMatchObject({ name: 'notes_owner', valid: true });
  expect(built?.oid).not.toBe(left?.oid);
  await expectWhole('notes');
});

test('builds a unique index once the duplicate that prevented it is gone', async () => {
  const unique = { name: 'notes_once', table: 'notes', definition: '(id, owner)', isUnique: true } as const;
  await owner.query('ALTER TABLE notes DROP CONSTRAINT notes_pkey');
  await owner.query('INSERT INTO notes (id, owner) OVERRIDING SYSTEM VALUE VALUES (1, 1)');
  await expect(migrateUp(listOf(unique))).rejects.toThrow('could not create unique index');
  expect(await indexesOf('notes')).toEqual([expect.objectContaining({ name: 'notes_once', valid: false })]);
  await owner.query('DELETE FROM notes WHERE id = 1');
  expect(await migrateUp(listOf(unique))).toEqual([INDEXES]);
  expect(await indexesOf('notes')).toEqual([expect.objectContaining({ name: 'notes_once', valid: true })]);
});

test('builds once when twenty replicas start together, and none waits for another forever', async () => {
  const list = listOf(ofNotes, ofVisits);
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrateUp(list)));
  expect(applied.flat()).toEqual([INDEXES]);
});

test('finds the build of a killed migration done, because it continues in the server', async () => {
  const backup = await openTransaction();
  const client = await connect('killed');
  await client.query('SELECT pg_advisory_lock(7706115001)');
  const killed = buildIndex(client, ofNotes).catch(() => undefined);
  await waitingBuild();
  const [begun] = await indexesOf('notes');
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  await killed;
  const migrated = migrateUp(listOf(ofNotes));
  await backup.end();
  expect(await migrated).toEqual([INDEXES]);
  expect(await indexesOf('notes')).toEqual([{ ...begun, valid: true }]);
});

test('says what a build waits for in vain, and succeeds in another attempt', async () => {
  const backup = await openTransaction();
  const client = await connect('migrates');
  const attempt = () => buildIndex(client, ofNotes, { timeoutMs: 50, tries: 2, pauseMs: 10 });
  await expect(attempt()).rejects.toThrow(
    `notes_owner waits for older transactions, which did not end in time (the oldest is that of process ${backup.pid}, "an-old-backup")`,
  );
  await backup.end();
  await attempt();
  expect(await indexesOf('notes')).toEqual([expect.objectContaining({ name: 'notes_owner', valid: true })]);
});

test('gives a partitioned table its index part by part, continues after an abort, and covers new partitions', async () => {
  const stop = await startWriter('visits');
  let backup = await openTransaction();
  await breakOff(listOf(ofVisits));
  await backup.end();
  // as after an abort at the second part: the first is attached, the second INVALID, the third not started
  await buildIndex(owner, { ...ofVisits, name: 'visits_1_owner', table: 'visits_1' });
  await owner.query('ALTER INDEX visits_owner ATTACH PARTITION visits_1_owner');
  backup = await openTransaction();
  await breakOff(listOf(ofVisits));
  const left = await indexesOf('visits');
  expect(left.map(({ name, valid }) => [name, valid])).toEqual([
    ['visits_1_owner', true],
    ['visits_2_owner', false],
    ['visits_owner', false],
  ]);

  const migrated = migrateUp(listOf(ofVisits));
  await waitingBuild();
  // the month that begins meanwhile
  await owner.query('CREATE TABLE visits_9 PARTITION OF visits FOR VALUES FROM (9) TO (10)');
  await backup.end();
  expect(await migrated).toEqual([INDEXES]);
  await stop();
  const built = await indexesOf('visits');
  expect(built.map(({ name, valid }) => [name, valid])).toEqual([
    ['visits_1_owner', true],
    ['visits_2_owner', true],
    ['visits_9_owner_idx', true],
    ['visits_default_owner', true],
    ['visits_owner', true],
  ]);
  expect(built[0]?.oid).toBe(left[0]?.oid);
  await expectWhole('visits');
});

test('can undo indexes, and rejects a name that is taken or too long', async () => {
  const list = listOf(ofNotes, ofVisits);
  await migrateUp(list);
  expect(await migrateDown(list)).toEqual([INDEXES]);
  expect([...(await indexesOf('notes')), ...(await indexesOf('visits'))]).toEqual([]);

  await migrateUp(listOf(ofNotes));
  const client = await connect('migrates');
  await expect(buildIndex(client, { ...ofVisits, name: 'notes_owner' })).rejects.toThrow(
    'notes_owner is an index of notes, not of visits',
  );
  await expect(buildIndex(client, { ...ofVisits, name: 'x'.repeat(60) })).rejects.toThrow(
    'longer than the 63',
  );
  await expect(buildIndex(client, { ...ofNotes, table: 'absent' })).rejects.toThrow('no table absent');
});
