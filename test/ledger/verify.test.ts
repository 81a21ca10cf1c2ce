import pg from 'pg';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { Movements } from '../../src/ledger/movements.ts';
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
  // what a malicious superuser would do first
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
  [
    'I15',
    ({ account: id }) =>
      `INSERT INTO usage_hour_totals VALUES ('${id}', '2026-01-01', 1, 0, 0, 0, 0, 0, 0, 0)`,
  ],
];

test('finds no violations in sound books, in full and per account', async () => {
  expect(await verifier.verify()).toMatchObject({ ok: true, violations: [], checked: 17 });
  expect(await verifier.verify(account.accountId)).toMatchObject({ ok: true });
});

test('reports books that are wrong in very many rows like those that are wrong in a few', async () => {
  await owner.query(`INSERT INTO holds (id, account_id, api_key_id, request_id, endpoint, model, price_version, is_task,
      amount, created_at, expires_at)
    SELECT gen_random_uuid(), '${account.accountId}', '${newUuid()}', 'r', 'e', 'm', 'p', false, 0, now(), now() - interval '5 min'
      FROM generate_series(1, 200000)`);
  const reports = [await verifier.verify(), await verifier.verify(account.accountId)];
  expect(reports.map(({ ok, violations }) => [ok, violations.length])).toEqual([
    [false, 100],
    [false, 100],
  ]);
});

test.each(CORRUPTIONS)('detects the corruption of %s', async (invariant, corrupt) => {
  await owner.query(corrupt({ account: account.accountId, generation }));
  for (const report of [await verifier.verify(), await verifier.verify(account.accountId)]) {
    expect(report.ok).toBe(false);
    expect(report.violations.map((violation) => violation.claim.split(':')[0])).toContain(invariant);
  }
  expect((await verifier.verify(newUuid())).ok).toBe(true);
});

/** Tampering a database owner can do while keeping the sums right. */
const TAMPERINGS: readonly [string, RegExp, string][] = [
  [
    'a reason is rewritten',
    /seq 1 was changed/,
    `UPDATE ledger_entries SET description = 'Other' WHERE type = 'adjustment'`,
  ],
  [
    'an actor is rewritten',
    /seq 1 was changed/,
    `UPDATE ledger_entries SET actor = 'mallory' WHERE type = 'adjustment'`,
  ],
  [
    'a grant is raised, with all balances after it and the watermark',
    /seq 1 was changed/,
    `UPDATE ledger_entries SET amount = amount + CASE type WHEN 'adjustment' THEN 5 ELSE 0 END, balance_after = balance_after + 5;
     UPDATE balances SET posted = posted + 5; UPDATE ledger_watermarks SET balance = balance + 5`,
  ],
  [
    'the last entry is deleted with its balance, seq and watermark',
    /seq 5 is gone/,
    `DELETE FROM ledger_entries WHERE seq = 5;
     UPDATE balances SET posted = posted - 1000000000, seq = seq - 1;
     UPDATE ledger_watermarks SET balance = balance - 1000000000, seq = seq - 1`,
  ],
  ['a provider cost is erased', /was changed/, 'UPDATE generations SET provider_cost = NULL'],
  [
    'a model is renamed in all roll-ups',
    /bucket .* other/,
    `UPDATE usage_rollups SET model = 'other'; UPDATE usage_days SET model = 'other'; UPDATE usage_hours SET model = 'other'`,
  ],
  [
    'tokens are doubled in the roll-ups',
    /bucket/,
    'UPDATE usage_rollups SET requests = requests * 2, input_tokens = 7',
  ],
  [
    'the time of a charge is moved',
    /was changed/,
    `UPDATE ledger_entries SET at = at + interval '1 s' WHERE seq = 4`,
  ],
  ['a row of the audit log is deleted', /is gone/, `DELETE FROM audit_log`],
  ['a row of the audit log is rewritten', /was changed/, `UPDATE audit_log SET detail = '{}'`],
  [
    'a statement gets other totals that add up',
    /period/,
    'UPDATE invoices SET usage = usage + 1, adjustments = adjustments + 1',
  ],
  ['a statement is made to end on another entry', /statement of/, `UPDATE invoices SET digest = 'x'`],
];

test.each(TAMPERINGS)('detects: %s', async (_, detail, tampering) => {
  const { rows } = await owner.query<{ offset: string }>(
    `SELECT (date_trunc('month', now(), 'UTC') + interval '1 month' + interval '1 h' - now())::text AS offset`,
  );
  const movements = new Movements(() => db.database.money);
  const act = {
    actor: 'alice',
    request_id: 'req_1',
    action: 'account.adjust',
    object: 'acc',
    detail: { a: 1 },
  };
  const movement = { accountId: account.accountId, reference: newUuid(), description: 'Goodwill', act };
  await movements.adjust(movement, usd('1'));
  await owner.query(`UPDATE generations SET provider_cost = 5`);
  await verifier.verifyIncrement();
  await owner.query(`SELECT set_config('tollgate.clock_offset', $1, false)`, [rows[0]!.offset]);
  await owner.query('SELECT close_months($1)', [account.accountId]);
  expect(await verifier.verify()).toMatchObject({ violations: [] });
  await owner.query(tampering);
  const { violations } = await verifier.verify();
  expect(violations.map((violation) => `${violation.object} ${violation.detail}`).join('\n')).toMatch(detail);
});

test('stops the owner from editing immutable rows as long as the triggers are active', async () => {
  await owner.query('SET session_replication_role = origin');
  for (const [table, change] of [
    ['generations', 'charge = 0'],
    ['ledger_entries', 'amount = 1'],
    ['audit_log', `actor = 'x'`],
    ['ledger_seals', `digest = ''`],
  ]) {
    await movementsOf(table ?? '');
    await expect(owner.query(`UPDATE ${table} SET ${change}`)).rejects.toMatchObject({ code: 'TG001' });
  }
});

/** Makes sure that a table has a row whose change can be rejected. */
async function movementsOf(table: string): Promise<void> {
  const act = { actor: 'alice', request_id: null, action: 'account.adjust', object: 'acc' };
  const movement = { accountId: account.accountId, reference: newUuid(), description: table, act };
  await new Movements(() => db.database.money).adjust(movement, usd('1'));
  await verifier.seal();
}

test('proves each entry once in an incremental check, and finds a tampered one behind its watermark', async () => {
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
