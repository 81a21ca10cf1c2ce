import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { MIGRATIONS } from '../../migrations/catalog.ts';
import { migrateUp } from '../../migrations/migrate.ts';
import { createDatabase, type Database } from '../../src/store/database.ts';
import { readRows } from '../../src/store/report.ts';
import { run } from '../../src/store/statement.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** Defaults that a database of one's own may have. */
const DEFAULTS = {
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'America/St_Johns',
  bytea_output: 'escape',
  extra_float_digits: '-10',
  array_nulls: 'off',
  quote_all_identifiers: 'on',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  default_transaction_deferrable: 'on',
  default_transaction_isolation: 'serializable',
  idle_session_timeout: '1s',
  transaction_timeout: '1s',
  statement_timeout: '5s',
};

const PROBE = {
  name: 'probe',
  text: `SELECT '2026-11-29 01:02:03.456789Z'::timestamptz AS at, $1::text[] AS words, 1795280308728.727::double precision AS ms,
                current_setting('TimeZone') AS zone, current_setting('transaction_isolation') AS isolation,
                current_setting('idle_session_timeout') AS idle, current_setting('transaction_timeout', true) AS transaction,
                interval '-1 day 2 hours'::text AS span, '\\x00ff'::bytea AS bytes`,
};
const EXPECTED = {
  at: new Date('2026-11-29T01:02:03.456Z'),
  words: ['a', null],
  ms: 1795280308728.727,
  zone: 'UTC',
  isolation: 'read committed',
  idle: '0',
  transaction: '0',
  span: '-1 days +02:00:00',
  bytes: Buffer.from([0, 255]),
};

let db: TestDatabase;
let database: Database;

beforeAll(async () => {
  db = await createTestDatabase();
  const owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  const name = owner.escapeIdentifier(new URL(db.ownerUrl).pathname.slice(1));
  for (const [setting, value] of Object.entries(DEFAULTS)) {
    await owner.query(`ALTER DATABASE ${name} SET ${setting} = ${owner.escapeLiteral(value)}`);
  }
  await owner.end();
  database = createDatabase({ url: db.url, moneyConnections: 1, connections: 1 }, () => undefined);
});
afterAll(async () => {
  await database?.close();
  await db?.close();
});

test('the defaults of a database change neither what is read nor what is written', async () => {
  const values = [['a', null]];
  expect(await run(database.money, PROBE, values)).toEqual([EXPECTED]);
  expect(await readRows(database.sequelize, PROBE, values)).toEqual([
    { ...EXPECTED, zone: expect.stringMatching(/^(UTC|<\+00>-00)$/) },
  ]);
  const client = database.openClient();
  await client.connect();
  expect((await client.query(PROBE.text, values)).rows).toEqual([EXPECTED]);
  await client.end();
});

test('a migration runs with our settings and without a limit for statements', async () => {
  const up = `CREATE TABLE seen AS SELECT current_setting('TimeZone') AS zone, current_setting('DateStyle') AS style,
    current_setting('transaction_isolation') AS isolation, current_setting('statement_timeout') AS statement`;
  const down = 'DROP TABLE seen';
  await migrateUp({ ownerUrl: db.ownerUrl, migrations: [...MIGRATIONS, { name: '9999-seen', up, down }] });
  const owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  expect((await owner.query('SELECT * FROM seen')).rows).toEqual([
    { zone: 'UTC', style: 'ISO, MDY', isolation: 'read committed', statement: '0' },
  ]);
  await owner.end();
});
