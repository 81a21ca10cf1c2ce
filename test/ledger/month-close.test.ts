import pg from 'pg';
import { createStatements } from '../../src/compose/billing.ts';
import { MonthClose } from '../../src/ledger/month-close.ts';
import { StatementProof } from '../../src/ledger/statement-proof.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { oneCell } from '../../src/store/cells.ts';
import { StateReadModel } from '../../src/telemetry/state.read-model.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { fundedAccount, silentLog, type TestAccount } from '../factories/ledger.ts';
import { testMonthClose } from '../factories/month-close.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const LAST_MONTH = '-40 days';

let db: TestDatabase;
let owner: pg.Client;

beforeAll(async () => {
  db = await createTestDatabase();
  owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  await owner.query('SET session_replication_role = replica');
});
afterAll(async () => {
  await owner?.end();
  // some tests break the books on purpose
  await db?.discard();
});

const lastMonth = <T>(work: (database: TestDatabase['database']) => Promise<T>) =>
  atTime(db.url, db.database, LAST_MONTH, work);

/** Creates an account with three calls last month. */
async function busyAccount(): Promise<TestAccount> {
  return await lastMonth(async (database) => {
    const account = await fundedAccount(database, '5');
    for (let call = 0; call < 3; call += 1) {
      await createGeneration(database, { ...account, charge: '0.3' });
    }
    return account;
  });
}

async function statements(): Promise<Map<string, string[]>> {
  const { rows } = await owner.query<{ account_id: string; statuses: string[] }>(
    'SELECT account_id, array_agg(status ORDER BY period_start) AS statuses FROM invoices GROUP BY 1',
  );
  return new Map(rows.map((row) => [row.account_id, row.statuses]));
}

async function due(): Promise<number> {
  return (await new StateReadModel(oneCell(db.database)).read()).statementsDue.accounts;
}

test('closes everything due in one run, not held up by an account that is locked or one that does not add up', async () => {
  const locked = await busyAccount();
  const wrong = await busyAccount();
  const sound = await busyAccount();
  const { rows } = await lastMonth(({ money }) =>
    money.query<{ id: string }>(`SELECT id, open_account(id, 'quiet') FROM unnest($1::uuid[]) id`, [
      Array.from({ length: 120 }, () => newUuid()),
    ]),
  );
  const holder = new pg.Client({ connectionString: db.ownerUrl });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM balances WHERE account_id = $1 FOR UPDATE', [locked.accountId]);
  // sealed as it was, then changed
  await owner.query('SELECT seal_account($1)', [wrong.accountId]);
  await owner.query(`UPDATE generations SET provider_cost = 8 WHERE account_id = $1`, [wrong.accountId]);
  const all = rows.length + 3;
  expect(await due()).toBe(all);

  const months = testMonthClose(db.database);
  const report = await months.closeDueMonths();
  const stated = await statements();
  expect(report.failed).toBe(2);
  expect(stated.get(locked.accountId)).toBeUndefined();
  expect(new Set(stated.get(wrong.accountId))).toEqual(new Set(['open']));
  expect(stated.size).toBe(all - 1);
  for (const { id } of [...rows, { id: sound.accountId }]) {
    expect(new Set(stated.get(id))).toEqual(new Set(['paid']));
  }
  expect(await due()).toBe(2);

  await holder.query('ROLLBACK');
  await holder.end();
  expect(await months.closeDueMonths()).toMatchObject({ failed: 1 });
  expect(new Set((await statements()).get(locked.accountId))).toEqual(new Set(['paid']));
  expect(await due()).toBe(1);
  expect(await months.closeDueMonths()).toEqual({ statements: 0, failed: 1 });
});

test('starts no further account once the run is aborted', async () => {
  const { accountId } = await busyAccount();
  const stopped = AbortSignal.abort();
  expect(await testMonthClose(db.database).closeDueMonths(stopped)).toEqual({ statements: 0, failed: 0 });
  expect((await statements()).has(accountId)).toBe(false);
});

/** Forgeries of account $1 and the violation each one causes. */
const FORGERIES: readonly [string, string, RegExp][] = [
  [
    'usage',
    'UPDATE invoices SET usage = usage + 1, closing = closing - 1 WHERE usage > 0 AND account_id = $1',
    /states closing 4099999999, the ledger has 4100000000/,
  ],
  [
    'opening',
    // early in a month the account's first month is the one before last, so that it has two statements
    'UPDATE invoices SET opening = 1, closing = closing + 1 WHERE opening = 0 AND account_id = $1',
    /states opening 1, the ledger has 0/,
  ],
  [
    'the digest',
    `UPDATE invoices SET digest = 'x' WHERE digest IS NOT NULL AND account_id = $1`,
    /states digest 78/,
  ],
  [
    'the last seq',
    'UPDATE invoices SET closing_seq = 3 WHERE account_id = $1',
    /states closing_seq 3, the ledger has 4/,
  ],
  [
    'an amount',
    `UPDATE ledger_entries SET amount = amount - 1, balance_after = balance_after - 1 WHERE seq = 2 AND account_id = $1`,
    /seq 2 does not match its call/,
  ],
  [
    'a balance',
    'UPDATE ledger_entries SET balance_after = 1 WHERE seq = 2 AND account_id = $1',
    /seq 3 does not follow the entry before/,
  ],
  [
    'a missing entry',
    'DELETE FROM ledger_entries WHERE seq = 3 AND account_id = $1',
    /seq 4 does not follow the entry before/,
  ],
  [
    'the lines of a call',
    `UPDATE generations SET lines = '{"input": "1"}' WHERE account_id = $1`,
    /seq 2 has lines that do not add up to it/,
  ],
  [
    'a description',
    `UPDATE ledger_entries SET description = 'x' WHERE seq = 1 AND account_id = $1`,
    /seq 1 is not what was sealed/,
  ],
  [
    'the roll-ups',
    'UPDATE usage_rollups SET charge = 1, charge_input = 1 WHERE account_id = $1',
    /states usage 900000000, the ledger has/,
  ],
];

test.each(FORGERIES)('does not prove a statement after somebody changed %s', async (_, forge, detail) => {
  const { accountId } = await busyAccount();
  await owner.query('SELECT seal_account($1)', [accountId]);
  await owner.query('SELECT close_months($1)', [accountId]);
  const proofs = [new StatementProof(db.database.money), new StatementProof(db.database.money, 0n)];
  for (const proof of proofs) {
    expect([...(await proof.prove([accountId]))]).toEqual([]);
  }
  await owner.query(forge, [accountId]);
  for (const proof of proofs) {
    const violations = (await proof.prove([accountId, newUuid()])).get(accountId) ?? [];
    expect(violations.map((violation) => violation.detail).join('\n')).toMatch(detail);
  }
});

test('proves statements one by one when they cannot be proven together', async () => {
  const first = await busyAccount();
  const second = await busyAccount();
  const { documents } = createStatements({
    cells: oneCell(db.database),
    publicUrl: 'http://localhost:8080',
    seller: () => undefined,
  });
  class Failing extends StatementProof {
    override async prove(accountIds: readonly string[]) {
      if (accountIds.length > 1 || accountIds[0] === first.accountId) {
        throw new Error('canceling statement due to statement timeout');
      }
      return await super.prove(accountIds);
    }
  }
  const months = new MonthClose(db.database.money, new Failing(db.database.money), documents, silentLog);
  await months.closeDueMonths();
  const stated = await statements();
  expect(new Set(stated.get(first.accountId))).toEqual(new Set(['open']));
  expect(new Set(stated.get(second.accountId))).toEqual(new Set(['paid']));
});
