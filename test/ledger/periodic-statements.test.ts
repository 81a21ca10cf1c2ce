import pg from 'pg';
import { expireCheckoutSessions, staleCheckoutSessions } from '../../src/billing/checkout.sql.ts';
import { claimPaymentEvents } from '../../src/billing/payment-inbox.sql.ts';
import { insertConsoleSession } from '../../src/console/sessions.sql.ts';
import { expireIdempotencyKeys } from '../../src/http/idempotency/idempotency.sql.ts';
import { forgetApiKeys } from '../../src/keys/keys.sql.ts';
import { expiredHolds, totalWriteOffs } from '../../src/ledger/ledger.sql.ts';
import { accountsToSeal, latestChecks, sealAccount } from '../../src/ledger/ledger-checks.sql.ts';
import { WriteOffTotals } from '../../src/ledger/write-off-totals.ts';
import { newUuid } from '../../src/lib/ids.ts';
import type { SqlStatement } from '../../src/store/statement.ts';
import { typicalDuration } from '../../src/tasks/task-reads.sql.ts';
import { deleteOldAlerts, deleteOldTasks, findExpiredMedia } from '../../src/tasks/task-retention.sql.ts';
import { findCanceling, findOverdue, lapseLeases } from '../../src/tasks/task-sweep.sql.ts';
import { pendingPaymentEvents, unbookedReversals, writeOffTotals } from '../../src/telemetry/state.sql.ts';
import { tellAlerts } from '../../src/webhooks/alerts.sql.ts';
import { takeDeliveries } from '../../src/webhooks/webhook-deliveries.sql.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** Rows of each table that grows. Each table takes more pages than a statement may read. */
const ROWS = 20_000;
const PAGES_MAX = 100;

let database: TestDatabase;
let owner: pg.Client;
let accountId: string;
let keyId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  accountId = (await createAccount(database.database)).id;
  keyId = (await createKey(database.database, accountId)).id;
  await writeHistory();
});
afterAll(async () => {
  await owner?.end();
  // its entries were written without the ledger
  await database?.discard();
});

async function writeHistory(): Promise<void> {
  const rows = `generate_series(1, ${ROWS}) n`;
  const ago = `clock_timestamp() - interval '2 days' - n * interval '1 s'`;
  const ahead = `clock_timestamp() + interval '2 days' + n * interval '1 s'`;
  for (const text of [
    `INSERT INTO write_offs (generation_id, account_id, reason, amount, at)
       SELECT gen_random_uuid(), '${accountId}', 'above_hold', n, ${ago} FROM ${rows}`,
    `INSERT INTO ledger_checks (kind, accounts, violations, duration_ms, at) SELECT 'incremental', 1, '[]', 1, ${ago} FROM ${rows}`,
    `INSERT INTO checkout_sessions (id, account_id, amount, currency, status, payment_status, provider, provider_session_id,
                                    url, success_url, cancel_url, created_at, expires_at)
       SELECT gen_random_uuid(), '${accountId}', 1, 'USD', 'complete', 'paid', 'stripe', 'cs_' || n, '', '', '', ${ago}, ${ago} FROM ${rows}`,
    `INSERT INTO webhook_inbox (provider, event_id, type, body, processed_at) SELECT 'stripe', n, 'paid', '{}', ${ago} FROM ${rows}`,
    `INSERT INTO tasks (id, account_id, api_key_id, endpoint, model, kind, pool, state, seed, charge, completed_at, deadline_at,
                        media_expires_at, media_deleted_at)
       SELECT gen_random_uuid(), '${accountId}', '${keyId}', '/v3', 'm', 'image', 'local', 'succeeded', 1, 1, ${ago}, ${ago}, ${ago}, ${ago}
         FROM ${rows}`,
    `INSERT INTO webhook_deliveries (id, account_id, task_id, url, state) SELECT gen_random_uuid(), '${accountId}', gen_random_uuid(),
       'https://example.com', 'delivered' FROM ${rows}`,
    `INSERT INTO payment_standings (purchase_reference, reversal, account_id, kind, amount, booked, first_at)
       SELECT gen_random_uuid(), 're_1', '${accountId}', 'refund', 1, 1, ${ago} FROM ${rows}`,
    `INSERT INTO audit_log (actor, action, object) SELECT 'operator', 'account.update', 'acc' FROM ${rows}`,
    'SELECT seal_audit_log()',
    `INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, at)
       SELECT '${accountId}', 1 + n, 'adjustment', 1, n, 'operator', gen_random_uuid(), clock_timestamp() + n * interval '1 ms'
         FROM ${rows}`,
    `UPDATE balances SET seq = 1 + ${ROWS} WHERE account_id = '${accountId}'`,
    `SELECT seal_account('${accountId}')`,
    `INSERT INTO api_keys (id, account_id, hash, name, label, role, deleted_at, has_history)
       SELECT gen_random_uuid(), '${accountId}', encode(sha256(n::text::bytea), 'hex'), 'old', 'old', 'owner',
              clock_timestamp() - interval '100 days', true FROM ${rows}`,
    // and rows that are not due for days
    `INSERT INTO tasks (id, account_id, api_key_id, endpoint, model, kind, pool, state, seed, charge, completed_at, deadline_at, media_expires_at)
       SELECT gen_random_uuid(), '${accountId}', '${keyId}', '/v3', 'm', 'image', 'local', 'succeeded', 1, 1, ${ago}, ${ago}, ${ahead}
         FROM ${rows}`,
    `INSERT INTO tasks (id, account_id, api_key_id, endpoint, model, kind, pool, seed, charge, deadline_at)
       SELECT gen_random_uuid(), '${accountId}', '${keyId}', '/v3', 'm', 'image', 'local', 1, 1, ${ahead} FROM ${rows}`,
    `INSERT INTO idempotency_keys (account_id, key, fingerprint, state, request_id, generation_id, locked_until)
       SELECT '${accountId}', n, '', 'done', '', gen_random_uuid(), ${ago} FROM ${rows}`,
    `INSERT INTO webhook_deliveries (id, account_id, task_id, url, next_try_at)
       SELECT gen_random_uuid(), '${accountId}', gen_random_uuid(), 'https://example.com', ${ahead} FROM ${rows}`,
    `INSERT INTO console_sessions (id, token_hash, account_id, api_key_id, ends_at)
       SELECT gen_random_uuid(), encode(sha256(n::text::bytea), 'hex'), '${accountId}', '${keyId}', ${ahead} FROM ${rows}`,
    `INSERT INTO holds (id, account_id, api_key_id, request_id, endpoint, model, price_version, is_task, amount, created_at, expires_at)
       SELECT gen_random_uuid(), '${accountId}', '${keyId}', '', '', '', '', false, 1, ${ago}, ${ahead} FROM ${rows}`,
    `INSERT INTO api_keys (id, account_id, hash, name, label, role, expires_at)
       SELECT gen_random_uuid(), '${accountId}', encode(sha256(('x' || n)::bytea), 'hex'), 'new', 'new', 'owner', ${ahead} FROM ${rows}`,
    'VACUUM ANALYZE',
  ]) {
    await owner.query(text);
  }
}

/** Returns how many 8 kB pages a statement reads, including those of the functions it calls. Changes nothing. */
async function pagesOf(statement: SqlStatement, values: readonly unknown[]): Promise<number> {
  let pages = 0;
  // the first run reads the catalog, too
  for (let time = 0; time < 2; time += 1) {
    await owner.query('BEGIN');
    const { rows } = await owner.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement.text}`, [
      ...values,
    ]);
    await owner.query('ROLLBACK');
    const plan = rows[0]['QUERY PLAN'][0].Plan;
    pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }
  return pages;
}

test('sums all write-offs in a total, whenever it was rolled up', async () => {
  const total = async () => (await owner.query(writeOffTotals.text)).rows;
  const all = [{ reason: 'above_hold', amount: ((ROWS * (ROWS + 1)) / 2).toString() }];
  expect(await total()).toEqual(all);
  const totals = new WriteOffTotals(database.database.money);
  await Promise.all([totals.rollUp(), totals.rollUp()]);
  expect(await total()).toEqual(all);
  await owner.query(
    `INSERT INTO write_offs (generation_id, account_id, reason, amount) VALUES
       (gen_random_uuid(), $1, 'above_hold', 5), (gen_random_uuid(), $1, 'provider_failure', 7)`,
    [accountId],
  );
  await totals.rollUp();
  const more = (await total()).sort((a, b) => a.reason.localeCompare(b.reason));
  expect(more).toEqual([
    { reason: 'above_hold', amount: (BigInt(all[0]!.amount) + 5n).toString() },
    { reason: 'provider_failure', amount: '7' },
  ]);
});

const LOOKUPS: readonly { name: string; statement: SqlStatement; values?: () => unknown[] }[] = [
  { name: 'the sums of write-offs', statement: writeOffTotals },
  { name: 'the chore that sums write-offs', statement: totalWriteOffs },
  { name: 'the latest checks', statement: latestChecks },
  { name: 'pending payment events', statement: pendingPaymentEvents },
  { name: 'unbooked reversals', statement: unbookedReversals },
  { name: 'holds of dead processes', statement: expiredHolds, values: () => [100] },
  { name: 'lapsed leases', statement: lapseLeases, values: () => [100] },
  { name: 'overdue tasks', statement: findOverdue, values: () => [100] },
  { name: 'unfinished cancels', statement: findCanceling, values: () => [100] },
  { name: 'expired media', statement: findExpiredMedia, values: () => [100] },
  { name: 'old tasks', statement: deleteOldTasks, values: () => [30, 10] },
  {
    name: 'checkout sessions without an update',
    statement: staleCheckoutSessions,
    values: () => ['stripe', 100],
  },
  { name: 'expired checkout sessions', statement: expireCheckoutSessions },
  { name: 'payment events to book', statement: claimPaymentEvents, values: () => ['stripe', 100] },
  { name: 'keys to forget', statement: forgetApiKeys, values: () => [90, 100] },
  { name: 'expired idempotency keys', statement: expireIdempotencyKeys, values: () => [10] },
  { name: 'webhooks that are due', statement: takeDeliveries, values: () => [100, 60_000, 10] },
  { name: 'accounts and keys to alert', statement: tellAlerts, values: () => [500] },
  { name: 'old alert deliveries', statement: deleteOldAlerts, values: () => [30, 100] },
  { name: 'typical task duration', statement: typicalDuration, values: () => ['m'] },
  {
    name: 'a sign-in, which removes ended sessions and those beyond the maximum',
    statement: insertConsoleSession,
    values: () => [newUuid(), 'f'.repeat(64), accountId, keyId, 1, '', '', 100, null],
  },
  { name: 'accounts to seal', statement: accountsToSeal, values: () => [100] },
  { name: 'the seal of an account', statement: sealAccount, values: () => [accountId, 1_000, null] },
];

test.each(LOOKUPS)(
  '$name: a statement that runs on a schedule does not read history',
  async ({ statement, values }) => {
    await new WriteOffTotals(database.database.money).rollUp();
    expect(await pagesOf(statement, values?.() ?? [])).toBeLessThan(PAGES_MAX);
  },
);
