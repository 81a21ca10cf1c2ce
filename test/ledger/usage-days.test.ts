import pg from 'pg';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { accountById } from '../../src/operators/accounts.sql.ts';
import { accountsToRollUp } from '../../src/usage/usage-days.sql.ts';
import { UsageDays } from '../../src/usage/usage-days.store.ts';
import { eventually } from '../factories/eventually.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { fundedAccount, holdRequest, settlement, type TestAccount, usd } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

let db: TestDatabase;

beforeEach(async () => {
  db = await createTestDatabase();
});
// which also proves that the days equal the roll-ups
afterEach(() => db?.close());

/** Half past this hour, so that no hour ends during a test. */
const NOW = `${30 - new Date().getUTCMinutes()} minutes`;
/** The finished hours of today. */
const HOURS_TODAY = new Date().getUTCHours();

/** Creates an account with one call of 0.10 on each of these days. */
async function accountWithCalls(...daysAgo: number[]): Promise<TestAccount> {
  const account = await atTime(db.url, db.database, '-60 days', (database) => fundedAccount(database, '9'));
  for (const days of daysAgo) {
    await call(account, days);
  }
  return account;
}

async function call(account: TestAccount, daysAgo: number): Promise<void> {
  await atTime(db.url, db.database, `-${daysAgo} days ${NOW}`, (database) =>
    createGeneration(database, { ...account, charge: '0.10' }),
  );
}

async function sums(account: TestAccount): Promise<Record<string, unknown>> {
  const { rows } = await db.database.money.query(
    `SELECT (SELECT count(*)::integer FROM usage_days WHERE account_id = $1) AS days,
            (SELECT count(*)::integer FROM usage_hours WHERE account_id = $1) AS hours,
            (SELECT count(*)::integer FROM usage_hour_totals WHERE account_id = $1) AS totals,
            (SELECT coalesce(sum(charge), 0)::text FROM usage_days WHERE account_id = $1) AS charge`,
    [account.accountId],
  );
  return rows[0];
}

const rollUp = () => atTime(db.url, db.database, NOW, ({ money }) => new UsageDays(money).rollUp());

test('fills finished hours and days once and leaves the current ones', async () => {
  const account = await accountWithCalls(45, 3, 3, 0);
  expect(await rollUp()).toBe(45 * 24 + HOURS_TODAY);
  const filled = { days: 2, hours: 2, totals: 2, charge: usd('0.30').toString() };
  expect(await sums(account)).toEqual(filled);
  expect(await rollUp()).toBe(0);
  expect(await sums(account)).toEqual(filled);
});

test('continues where it stopped when another day has passed', async () => {
  const account = await accountWithCalls(5);
  await atTime(db.url, db.database, '-4 days', ({ money }) => new UsageDays(money).rollUp());
  expect(await sums(account)).toMatchObject({ days: 1 });
  await call(account, 3);
  await call(account, 1);
  await rollUp();
  expect(await sums(account)).toEqual({ days: 3, hours: 3, totals: 3, charge: usd('0.30').toString() });
});

test('fills each day once when many workers run at once while calls are settled', async () => {
  const accounts = await Promise.all([accountWithCalls(40, 2), accountWithCalls(40, 2)]);
  await Promise.all([
    ...Array.from({ length: 6 }, rollUp),
    ...accounts.map((account) => createGeneration(db.database, { ...account, charge: '0.10' })),
  ]);
  await rollUp();
  for (const account of accounts) {
    expect(await sums(account)).toEqual({ days: 2, hours: 2, totals: 2, charge: usd('0.20').toString() });
  }
});

test('counts a settlement that is being committed when its day ends in that day', async () => {
  const account = await accountWithCalls(2);
  const yesterday = await db.database.money.connect();
  try {
    await yesterday.query(`SELECT set_config('tollgate.clock_offset', '-1 day', false)`);
    const store = new LedgerStore(yesterday as unknown as pg.Pool);
    const request = holdRequest(account, usd('1'));
    await store.reserve([request], 600_000);
    await yesterday.query('BEGIN');
    await store.settle([{ settlement: settlement(request, usd('0.10')), onlyExpired: false }]);
    const rolledUp = rollUp();
    await untilBlocked();
    await yesterday.query('COMMIT');
    await rolledUp;
  } finally {
    yesterday.release(true);
  }
  expect(await sums(account)).toEqual({ days: 2, hours: 2, totals: 2, charge: usd('0.20').toString() });
});

test('adds the totals of hours that were filled before there were totals', async () => {
  const account = await accountWithCalls(45, 3, 3, 0);
  await rollUp();
  const owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  await owner.query('DELETE FROM usage_hour_totals; UPDATE usage_day_marks SET totals_until = DEFAULT');
  await owner.end();
  expect(await rollUp()).toBe(45 * 24 + HOURS_TODAY);
  expect(await sums(account)).toMatchObject({ hours: 2, totals: 2 });
  expect(await rollUp()).toBe(0);
});

test('adds nothing to a finished day, even when the clock is set back', async () => {
  const account = await accountWithCalls(3);
  await rollUp();
  await call(account, 2);
  expect(await sums(account)).toMatchObject({ days: 1 });
  await call(account, 0);
  await atTime(db.url, db.database, '1 day', ({ money }) => new UsageDays(money).rollUp());
  expect(await sums(account)).toMatchObject({ days: 2, charge: usd('0.30').toString() });
});

test('fills an hour as soon as it has ended, and its day when that has ended', async () => {
  const account = await accountWithCalls(3);
  await atTime(db.url, db.database, `-3 days 1 hour ${NOW}`, ({ money }) => new UsageDays(money).rollUp());
  const isOver = HOURS_TODAY === 23;
  expect(await sums(account)).toMatchObject({ hours: 1, totals: 1, days: isOver ? 1 : 0 });
  const listed = await db.database.money.query(accountById.text, [account.accountId]);
  expect(listed.rows).toMatchObject([{ usage_30d: usd('0.10').toString() }]);
  await rollUp();
  expect(await sums(account)).toEqual({ hours: 1, totals: 1, days: 1, charge: usd('0.10').toString() });
  const { rows } = await db.database.money.query(accountsToRollUp.text, [10]);
  expect(rows).toEqual([]);
});

test('looks first at the accounts that have waited longest', async () => {
  const known = await accountWithCalls(6);
  await atTime(db.url, db.database, '-5 days', ({ money }) => new UsageDays(money).rollUp());
  await call(known, 1);
  const added = await accountWithCalls(2);
  const { rows } = await db.database.money.query(accountsToRollUp.text, [10]);
  expect(rows.map(({ id }) => id)).toEqual([added.accountId, known.accountId]);
});

test('creates no days for an account without calls and looks at it once', async () => {
  await atTime(db.url, db.database, '-9 days', (database) => fundedAccount(database, '1'));
  expect(await rollUp()).toBe(0);
  const { rows } = await db.database.money.query(
    'SELECT filled_until = final_until AS done FROM usage_day_marks',
  );
  expect(rows).toEqual([{ done: true }]);
});

async function untilBlocked(): Promise<void> {
  await eventually(async () => {
    const { rows } = await db.database.money.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  });
}
