import { appendFileSync } from 'node:fs';
import type { PostgresLedger } from '../../../src/ledger/ledger.engine.ts';
import { AppError } from '../../../src/lib/errors.ts';
import { newUuid } from '../../../src/lib/ids.ts';
import { nanoUsd, ZERO_USD } from '../../../src/lib/money.ts';
import { createDatabase } from '../../../src/store/database.ts';
import { holdRequest, settlement, type TestAccount, testLedger, usd } from '../../factories/ledger.ts';

/** What the parent asks this process to do. */
export type LedgerOrder =
  | { readonly do: 'race'; readonly account: TestAccount; readonly calls: number; readonly amount: string }
  | {
      readonly do: 'load';
      readonly accounts: readonly TestAccount[];
      readonly clients: number;
      readonly log: string;
    }
  | { readonly do: 'stop' };

export interface RaceResult {
  readonly admitted: number;
  readonly codes: Readonly<Record<string, number>>;
}

/** A line of the auditor's log: a charge this process was told of before it could be killed. */
export interface ToldCharge {
  readonly id: string;
  readonly accountId: string;
  readonly charge: string;
}

async function race(
  ledger: PostgresLedger,
  order: Extract<LedgerOrder, { do: 'race' }>,
): Promise<RaceResult> {
  const amount = usd(order.amount);
  const calls = Array.from({ length: order.calls }, () => ledger.reserve(holdRequest(order.account, amount)));
  const codes: Record<string, number> = {};
  let admitted = 0;
  for (const outcome of await Promise.allSettled(calls)) {
    if (outcome.status === 'fulfilled') {
      admitted += 1;
    } else {
      const code = outcome.reason instanceof AppError ? outcome.reason.code : String(outcome.reason);
      codes[code] = (codes[code] ?? 0) + 1;
    }
  }
  return { admitted, codes };
}

/** Runs one client forever: it calls, is charged, and writes down the charge it was told. */
async function client(ledger: PostgresLedger, accounts: readonly TestAccount[], log: string): Promise<never> {
  for (;;) {
    const account = accounts[Math.floor(Math.random() * accounts.length)]!;
    const charge = nanoUsd(BigInt(1 + Math.floor(Math.random() * 1_000_000)));
    const id = newUuid();
    try {
      const hold = await ledger.reserve(holdRequest(account, nanoUsd(1_000_000n), { id }));
      const failed = Math.random() < 0.1;
      const settled = failed
        ? await ledger.settle(settlement(hold, ZERO_USD, { status: 'failed' }))
        : await ledger.settle(settlement(hold, charge));
      const told: ToldCharge = { id, accountId: account.accountId, charge: settled.charge.toString() };
      appendFileSync(log, `${JSON.stringify(told)}\n`);
    } catch (error) {
      if (!(error instanceof AppError)) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

const database = createDatabase(
  { url: process.env.LEDGER_DATABASE_URL!, moneyConnections: 8, connections: 1 },
  () => undefined,
);
const ledger = testLedger(database);

process.on('message', (order: LedgerOrder) => {
  if (order.do === 'race') {
    void race(ledger, order).then((result) => process.send?.(result));
  } else if (order.do === 'load') {
    for (let index = 0; index < order.clients; index += 1) {
      void client(ledger, order.accounts, order.log);
    }
  } else {
    process.disconnect();
    void ledger.close().then(() => database.close());
  }
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
