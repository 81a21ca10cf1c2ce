import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { migrateUp } from '../../migrations/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const role = `scaler_${randomBytes(4).toString('hex')}`;
const password = randomBytes(12).toString('hex');
let database: TestDatabase;
let owner: pg.Client;
let scaler: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  await owner.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  const applicationRole = decodeURIComponent(new URL(database.url).username);
  await migrateUp({ ownerUrl: database.ownerUrl, applicationRole, scalerRole: role });
  const url = Object.assign(new URL(database.ownerUrl), { username: role, password });
  scaler = new pg.Client({ connectionString: url.href });
  await scaler.connect();
});

afterAll(async () => {
  await scaler?.end();
  await owner?.query(`DROP OWNED BY ${role}`);
  await owner?.query(`DROP ROLE ${role}`);
  await owner?.end();
  await database?.close();
});

test('counts the tasks of a pool with the statement the chart gives to KEDA', async () => {
  const { rows } = await scaler.query(
    `SELECT count(*) FROM tasks WHERE pool IN ('local') AND state IN ('queued', 'generating')`,
  );
  expect(rows).toEqual([{ count: '0' }]);
});

test.each([
  'SELECT * FROM tasks',
  'SELECT id FROM tasks',
  'SELECT parameters FROM tasks',
  'SELECT * FROM accounts',
  'SELECT * FROM balances',
  "UPDATE tasks SET state = 'failed'",
  'DELETE FROM tasks',
])('denies %s', async (statement) => {
  await expect(scaler.query(statement)).rejects.toThrow('permission denied');
});
