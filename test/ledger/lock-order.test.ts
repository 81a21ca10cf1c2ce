import pg from 'pg';
import { forgetApiKeys, markKeysUsed } from '../../src/keys/keys.sql.ts';
import { renewHolds } from '../../src/ledger/ledger.sql.ts';
import { run } from '../../src/store/statement.ts';
import { fundedAccount, holdRequest, settlement, testLedger, usd } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/**
 * Batches write keys and holds in any order, protected only by the locks on balances. That is safe as long as writers that touch rows
 * of several accounts without locking their balances never wait for one.
 */

let db: TestDatabase;
let batch: pg.Client;
let chore: pg.Client;

beforeAll(async () => {
  db = await createTestDatabase();
  [batch, chore] = [1, 2].map(() => new pg.Client({ connectionString: db.ownerUrl })) as [
    pg.Client,
    pg.Client,
  ];
  await Promise.all([batch.connect(), chore.connect()]);
  await chore.query("SET lock_timeout = '2s'");
});

afterAll(async () => {
  await Promise.all([batch?.end(), chore?.end()]);
  await db?.close();
});

test('skips rows locked by a batch in chores that write rows of several accounts', async () => {
  const accounts = await Promise.all([1, 2].map(() => fundedAccount(db.database, '5')));
  const keys = accounts.map(({ apiKeyId }) => apiKeyId);
  const ledger = testLedger(db.database);
  const holds = await Promise.all(accounts.map((account) => ledger.reserve(holdRequest(account, usd('1')))));
  const ids = holds.map(({ id }) => ({ id, metered: null }));
  const now = new Date().toISOString();
  const [expired, deleted] = await Promise.all([1, 2].map(() => fundedAccount(db.database, '0')));
  for (const [key, column] of [
    [expired!.apiKeyId, 'expires_at'],
    [deleted!.apiKeyId, 'deleted_at'],
  ]) {
    await batch.query(
      `UPDATE api_keys SET ${column} = clock_timestamp() - interval '100 days' WHERE id = $1`,
      [key],
    );
  }

  await batch.query('BEGIN');
  await batch.query('UPDATE api_keys SET held = held WHERE id = ANY ($1)', [
    [keys[0], expired!.apiKeyId, deleted!.apiKeyId],
  ]);
  await batch.query('SELECT FROM holds WHERE id = $1 FOR UPDATE', [holds[0]!.id]);
  const marked = await run<{ id: string }>(chore as never, markKeysUsed, [keys, [now, now]]);
  const forgotten = await run<{ handled: number }>(chore as never, forgetApiKeys, [90, 10]);
  const renewed = await run<{ renewed: number }>(chore as never, renewHolds, [JSON.stringify(ids), 60_000]);
  await batch.query('COMMIT');

  expect(marked.map(({ id }) => id)).toEqual([keys[1]]);
  expect(forgotten).toEqual([{ handled: 0 }]);
  expect(renewed).toEqual([{ renewed: 1 }]);
  await Promise.all(holds.map((hold) => ledger.settle(settlement(hold, usd('1')))));
  await ledger.close();
});
