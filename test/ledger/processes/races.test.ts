import type { ChildProcess } from 'node:child_process';
import { fundedAccount, settlement, testLedger, usd } from '../../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../../setup/database.ts';
import type { RaceResult } from './ledger-process.ts';
import { ask, end, startLedgerProcess } from './start-ledger-process.ts';

const PROCESSES = 3;
const CALLS = 1_000;
const ROUNDS = 30;

let db: TestDatabase;
let processes: ChildProcess[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  processes = await Promise.all(Array.from({ length: PROCESSES }, () => startLedgerProcess(db.url)));
});

afterAll(async () => {
  await Promise.all(processes.map((child) => end(child)));
  await db?.close();
});

/** Makes every process send its share of the calls at once, then releases the holds of the account. */
async function raceOnce(credits: string, limit?: string): Promise<{ admitted: number; codes: string[] }> {
  const account = await fundedAccount(db.database, credits, limit);
  const results = await Promise.all(
    processes.map((child, index) =>
      ask<RaceResult>(child, {
        do: 'race',
        account,
        calls: Math.floor(CALLS / PROCESSES) + (index < CALLS % PROCESSES ? 1 : 0),
        amount: '0.10',
      }),
    ),
  );
  const { rows } = await db.database.money.query<{ id: string }>(
    'SELECT id FROM holds WHERE account_id = $1',
    [account.accountId],
  );
  const ledger = testLedger(db.database);
  await Promise.all(rows.map(({ id }) => ledger.settle(settlement({ id, ...account }, usd('0.10')))));
  await ledger.close();
  return {
    admitted: results.reduce((sum, result) => sum + result.admitted, 0),
    codes: [...new Set(results.flatMap((result) => Object.keys(result.codes)))],
  };
}

test(`admits exactly 50 of ${CALLS} calls of 0.10 at once on 5.00, from ${PROCESSES} processes, ${ROUNDS} times`, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    expect(await raceOnce('5.00')).toEqual({ admitted: 50, codes: ['insufficient_credits'] });
  }
});

test(`admits as many on a key limit of 5.00 while the account has plenty`, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    expect(await raceOnce('5000', '5.00')).toEqual({ admitted: 50, codes: ['key_limit_exceeded'] });
  }
});
