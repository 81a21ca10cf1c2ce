import pg from 'pg';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { newUuid } from '../../src/lib/ids.ts';
import {
  fundedAccount,
  holdRequest,
  settlement,
  type TestAccount,
  testLedger,
  usd,
} from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

let db: TestDatabase;
let owner: pg.Client;
let verifier: LedgerVerifier;
let account: TestAccount;
let generation: string;

beforeEach(async () => {
  db = await createTestDatabase();
  owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  // what a superuser with bad intentions would do first
  await owner.query('SET session_replication_role = replica');
  verifier = new LedgerVerifier(db.database.money);
  account = await fundedAccount(db.database, '5');
  const ledger = testLedger(db.database);
  for (let call = 0; call < 3; call += 1) {
    const hold = await ledger.reserve(holdRequest(account, usd('1')));
    await ledger.settle(settlement(hold, usd('0.3')));
    generation = hold.id;
  }
  await ledger.close();
});

afterEach(async () => {
  await owner?.end();
  await db?.discard();
});

const CORRUPTIONS: readonly [string, (ids: { account: string; generation: string }) => string][] = [
  ['I1', ({ account: id }) => `UPDATE balances SET posted = posted + 1 WHERE account_id = '${id}'`],
  ['I2', ({ account: id }) => `UPDATE balances SET held = held + 1 WHERE account_id = '${id}'`],
  ['I3', ({ account: id }) => `UPDATE api_keys SET spent = spent + 1 WHERE account_id = '${id}'`],
  ['I4', ({ account: id }) => `UPDATE balances SET used = used + 1 WHERE account_id = '${id}'`],
  [
    'I5',
    ({ generation: id }) =>
      `UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE reference = '${id}'`,
  ],
  ['I6', ({ generation: id }) => `DELETE FROM generations WHERE id = '${id}'`],
  [
    'I7',
    ({
      account: id,
    }) => `INSERT INTO tasks (id, account_id, api_key_id, endpoint, model, kind, pool, seed, charge, deadline_at)
      VALUES ('${newUuid()}', '${id}', '${newUuid()}', 'e', 'm', 'image', 'p', 1, 1, now() + interval '1 day')`,
  ],
  [
    'I8',
    ({
      account: id,
    }) => `INSERT INTO holds (id, account_id, api_key_id, request_id, endpoint, model, price_version, is_task,
        amount, created_at, expires_at)
      VALUES ('${newUuid()}', '${id}', '${newUuid()}', 'r', 'e', 'm', 'p', false, 0, now(), now() - interval '5 min')`,
  ],
  [
    'I9',
    ({
      account: id,
    }) => `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, url, success_url, cancel_url,
        status, payment_status, expires_at, credited_at)
      VALUES ('${newUuid()}', '${id}', 1, 'USD', 'test', '', '', '', 'complete', 'paid', now(), now())`,
  ],
  ['I10', ({ account: id }) => `UPDATE balances SET debt = 1 WHERE account_id = '${id}'`],
  [
    'I11',
    ({
      account: id,
    }) => `INSERT INTO invoices (id, account_id, period_start, period_end, status, opening, purchases, usage,
        refunds, adjustments, closing, opening_seq, closing_seq)
      VALUES ('${newUuid()}', '${id}', '2026-01-01', '2026-02-01', 'paid', 0, 7, 0, 0, 0, 7, 0, 1)`,
  ],
  ['I12', ({ account: id }) => `DELETE FROM usage_rollups WHERE account_id = '${id}'`],
  [
    'I13',
    ({
      account: id,
    }) => `INSERT INTO tasks (id, account_id, api_key_id, endpoint, model, kind, pool, seed, charge, deadline_at)
      VALUES ('${newUuid()}', '${id}', '${newUuid()}', 'e', 'm', 'image', 'p', 1, 1, now() - interval '1 day')`,
  ],
  ['I14', ({ generation: id }) => `UPDATE generations SET lines = '{"input": "1"}' WHERE id = '${id}'`],
  ['I15', ({ account: id }) => `INSERT INTO usage_day_marks VALUES ('${id}', '2100-01-01', '2100-01-01')`],
];

test('sound books have no violations, in full and per account', async () => {
  expect(await verifier.verify()).toMatchObject({ ok: true, violations: [], checked: 15 });
  expect(await verifier.verify(account.accountId)).toMatchObject({ ok: true });
});

test.each(CORRUPTIONS)('%s notices its corruption', async (invariant, corrupt) => {
  await owner.query(corrupt({ account: account.accountId, generation }));
  for (const report of [await verifier.verify(), await verifier.verify(account.accountId)]) {
    expect(report.ok).toBe(false);
    expect(report.violations.map((violation) => violation.claim.split(':')[0])).toContain(invariant);
  }
  expect((await verifier.verify(newUuid())).ok).toBe(true);
});

test('an incremental check proves each entry once, and finds a tampered one behind its watermark', async () => {
  expect(await verifier.verifyIncrement()).toEqual({ accounts: 1, violations: [] });
  expect(await verifier.verifyIncrement()).toEqual({ accounts: 0, violations: [] });
  const ledger = testLedger(db.database);
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  await ledger.settle(settlement(hold, usd('0.3')));
  await ledger.close();
  await owner.query('UPDATE ledger_entries SET amount = amount + 1 WHERE reference = $1', [hold.id]);
  for (let round = 0; round < 2; round += 1) {
    const { violations } = await verifier.verifyIncrement();
    expect(violations.map((violation) => violation.claim.split(':')[0]).sort()).toEqual(['I1', 'I5', 'I6']);
  }
});
