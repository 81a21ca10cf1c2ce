import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { MIGRATIONS, migrationNames } from '../../migrations/catalog.ts';
import { describeSchema } from '../../migrations/describe-schema.ts';
import { functionFiles } from '../../migrations/functions.ts';
import { inTransaction } from '../../migrations/in-transaction.ts';
import { migrateDown, migrateUp } from '../../migrations/migrate.ts';
import { compiled } from '../setup/compiled.ts';

const SCHEMA_FILE = fileURLToPath(new URL('../../migrations/schema.sql', import.meta.url));
const serverUrl = process.env.TEST_DATABASE_OWNER_URL!;

let url: string;
let name: string;

beforeEach(async () => {
  name = `migrations_${Math.random().toString(36).slice(2, 10)}`;
  await onServer(`CREATE DATABASE ${name}`);
  const own = new URL(serverUrl);
  own.pathname = `/${name}`;
  url = own.href;
});

afterEach(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`));

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

async function schema(): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return await describeSchema(client).finally(() => client.end());
}

test('matches the committed schema.sql with what the migrations make (npm run generate writes it)', async () => {
  await migrateUp({ ownerUrl: url });
  expect(await schema()).toBe(readFileSync(SCHEMA_FILE, 'utf8'));
});

test('undoes every migration one by one, and applies them again to the same schema', async () => {
  const empty = await (async () => {
    await migrateUp({ ownerUrl: url });
    await migrateDown({ ownerUrl: url }, MIGRATIONS[0]!.name);
    return await schema();
  })();
  expect(empty).not.toContain('TABLE accounts');
  await migrateUp({ ownerUrl: url });
  const full = await schema();
  for (const migration of [...MIGRATIONS].reverse()) {
    expect(await migrateDown({ ownerUrl: url })).toEqual([migration.name]);
  }
  expect(await schema()).toBe(empty);
  await migrateUp({ ownerUrl: url });
  expect(await schema()).toBe(full);
});

test('migrates once when twenty replicas start together', async () => {
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrateUp({ ownerUrl: url })));
  expect(applied.flat()).toEqual([...migrationNames(), ...functionFiles().map((file) => file.name)]);
});

test('says once that another migration has to end first', async () => {
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('SELECT pg_advisory_lock($1)', [7_706_115_001]);
  let waits = 0;
  const onWait = () => {
    waits += 1;
    setTimeout(() => void other.end(), 1_000);
  };
  await migrateUp({ ownerUrl: url, onWait });
  expect(waits).toBe(1);
});

async function query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return (await client.query<Row>(sql).finally(() => client.end())).rows;
}

const LATEST =
  'SELECT DISTINCT ON (name) name, checksum FROM schema_functions ORDER BY name, applied_at DESC';

test('gives a database of an earlier release the functions it lacks, and only those that changed since', async () => {
  await migrateUp({ ownerUrl: url });
  const full = await schema();
  // the state 0011 left: no record of files, and an old body
  await migrateDown({ ownerUrl: url }, '0012-schema-functions');
  await query(
    `CREATE OR REPLACE FUNCTION payment_reversed(purchase uuid) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'`,
  );
  expect((await migrateUp({ ownerUrl: url }))[0]).toBe('0012-schema-functions');
  expect(await schema()).toBe(full);
  expect(await query(LATEST)).toEqual(functionFiles().map(({ name, checksum }) => ({ name, checksum })));
  expect(await migrateUp({ ownerUrl: url })).toEqual([]);
  // a release in between had another version of one file
  await query(`INSERT INTO schema_functions VALUES ('functions/ledger_purchase.sql', 'of another release')`);
  expect(await migrateUp({ ownerUrl: url })).toEqual(['functions/ledger_purchase.sql']);
  expect(await query(LATEST)).toEqual(functionFiles().map(({ name, checksum }) => ({ name, checksum })));
});

test('leaves the functions alone when the build is older than the database', async () => {
  await migrateUp({ ownerUrl: url });
  await query(`INSERT INTO schema_migrations VALUES ('9999-of-a-later-release')`);
  await query(`INSERT INTO schema_functions VALUES ('functions/ledger_purchase.sql', 'of a later release')`);
  expect(await migrateUp({ ownerUrl: url })).toEqual([]);
});

test('grants the application no table of a later release when the build is older than the database', async () => {
  const applicationRole = decodeURIComponent(new URL(process.env.TEST_DATABASE_URL!).username);
  await migrateUp({ ownerUrl: url, applicationRole });
  await query(`INSERT INTO schema_migrations VALUES ('9999-of-a-later-release')`);
  await query('CREATE TABLE money_of_later (amount bigint)');
  await migrateUp({ ownerUrl: url, applicationRole });
  const [rights] = await query<{ money: boolean; others: boolean }>(
    `SELECT has_table_privilege('${applicationRole}', 'money_of_later', 'INSERT') AS money,
            has_table_privilege('${applicationRole}', 'idempotency_keys', 'INSERT') AS others`,
  );
  expect(rights).toEqual({ money: false, others: true });
});

test('lets no session setting move the time of the ledger, and no function but the audit read one', async () => {
  await migrateUp({ ownerUrl: url });
  const [moved] = await query<{ seconds: number }>(
    `WITH changed AS MATERIALIZED (SELECT set_config('tollgate.clock_offset', '400 days', false) AS to_value)
     SELECT to_value, extract(epoch FROM ledger_now() - clock_timestamp())::float8 AS seconds FROM changed`,
  );
  expect(Math.abs(moved!.seconds)).toBeLessThan(1);
  const readers = await query<{ name: string }>(
    `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        AND coalesce(pg_get_function_sqlbody(oid), prosrc) ~ 'current_setting' AND prokind = 'f'`,
  );
  expect(readers.map(({ name }) => name)).toEqual(['current_act']);
});

test('keeps every ledger function in a file', async () => {
  await migrateUp({ ownerUrl: url });
  const inFiles = functionFiles().flatMap((file) =>
    [...file.sql.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].map((match) => match[1]),
  );
  const made = await query<{ name: string }>(
    `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace`,
  );
  const tablesNeed = ['id_floor', 'refuse_change', 'refuse_new_amounts'];
  expect([...inFiles, ...tablesNeed].sort()).toEqual(made.map((row) => row.name).sort());
});

test('lets calls go first when a migration cannot get its lock, and retries the migration', async () => {
  await migrateUp({ ownerUrl: url });
  const [reader, migrating] = [new pg.Client(url), new pg.Client(url)];
  await Promise.all([reader.connect(), migrating.connect()]);
  await reader.query('BEGIN; SELECT 1 FROM accounts');
  let tries = 0;
  const work = async () => {
    tries += 1;
    await migrating.query('ALTER TABLE accounts ADD COLUMN later text');
  };
  const migrated = inTransaction(migrating, work, { timeoutMs: 50, tries: 1_000, pauseMs: 10 });
  while (tries < 3) {
    await query('SELECT 1 FROM accounts');
  }
  await reader.query('COMMIT');
  await migrated;
  expect(await query('SELECT later FROM accounts')).toEqual([]);
  await Promise.all([reader.end(), migrating.end()]);
});

test('the program migrates the primary among several servers, and grants the role that a URL names in its query', async () => {
  const { username, password, host } = new URL(url);
  const applicationRole = decodeURIComponent(new URL(process.env.TEST_DATABASE_URL!).username);
  const env = {
    PATH: process.env.PATH,
    DATABASE_OWNER_URL: `postgres://${username}:${password}@127.0.0.1:1,${host}/${name}`,
    DATABASE_URL: `postgresql:///${name}?host=/run/postgresql&user=${encodeURIComponent(applicationRole)}`,
  };
  const program = await compiled('migrations/run.ts');
  await new Promise<void>((resolve, reject) => {
    execFile(process.execPath, [program], { env }, (error) => (error ? reject(error) : resolve()));
  });
  const [rights] = await query<{ granted: boolean }>(
    `SELECT has_table_privilege('${applicationRole}', 'idempotency_keys', 'INSERT') AS granted`,
  );
  expect(rights).toEqual({ granted: true });
});

test.each([
  ['dwon', 'dwon is not a command', 'development'],
  ['down', 'does not run with NODE_ENV=production', 'production'],
])('rejects `%s` in the program: %s', async (argument, told, nodeEnv) => {
  const env = { PATH: process.env.PATH, DATABASE_URL: url, NODE_ENV: nodeEnv };
  const args = [await compiled('migrations/run.ts'), argument];
  const [code, text] = await new Promise<[unknown, string]>((resolve) => {
    execFile(process.execPath, args, { env }, (error, _, stderr) => resolve([error?.code, stderr]));
  });
  expect([code, text]).toEqual([2, expect.stringContaining(told)]);
});

test('has no check with a counted regular expression: Postgres would process it at each write of a row, whatever is written', () => {
  expect(readFileSync(SCHEMA_FILE, 'utf8').match(/CHECK .*~.*\{\d.*/g)).toBeNull();
});

test('stores a credential as 64 lowercase hex digits', async () => {
  const [hash, others] = [
    'af09'.repeat(16),
    ['af09'.repeat(15), 'af09'.repeat(17), 'AF09'.repeat(16), 'ag09'.repeat(16)],
  ];
  await migrateUp({ ownerUrl: url });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows: checks } = await client.query<{ column: string; condition: string }>(
    `SELECT a.attname AS column, pg_get_expr(c.conbin, c.conrelid) AS condition
       FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
      WHERE c.conname LIKE '%hash_check'`,
  );
  expect(checks).toHaveLength(4);
  for (const { column, condition } of checks) {
    const { rows } = await client.query<{ taken: string[] }>(
      `SELECT array_agg(${column}) AS taken FROM unnest($1::text[]) h (${column}) WHERE ${condition}`,
      [[hash, ...others, `${hash.slice(1)}\n`]],
    );
    expect(rows).toEqual([{ taken: [hash] }]);
  }
  await client.end();
});
