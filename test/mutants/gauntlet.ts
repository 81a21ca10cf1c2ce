import { expect } from '@jest/globals';
import fc from 'fast-check';
import { ONE_CALL, type Pricing } from '../../src/catalog/pricing.ts';
import type { LaneObserver } from '../../src/ledger/commit-lane.ts';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { AppError } from '../../src/lib/errors.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { ZERO_USD } from '../../src/lib/money.ts';
import { NO_USAGE } from '../../src/lib/usage.ts';
import { createDatabase } from '../../src/store/database.ts';
import {
  fundedAccount,
  holdRequest,
  purchaseCredits,
  settlement,
  silentLog,
  silentObserver,
  taskEnding,
  testKey,
  testLedger,
  usd,
} from '../factories/ledger.ts';
import { ledgerStory } from '../ledger/model/ledger-commands.ts';
import { StoryRunner } from '../ledger/model/story-runner.ts';
import { clockSetBack, corrections } from './book-scenarios.ts';
import { holdsInTurn, locksInOrder } from './lock-scenarios.ts';
import type { Parts } from './parts.types.ts';
import { paymentFollowed } from './payment-scenarios.ts';

/** Every promise of the ledger, in scenarios that fail when it is broken. Quick ones first. */
export const GAUNTLET: readonly { readonly name: string; readonly run: (parts: Parts) => Promise<void> }[] = [
  { name: 'charges are exact', run: chargesAreExact },
  { name: 'a settled charge is there when the promise resolves', run: settledIsVisible },
  { name: 'one id in a batch twice holds once', run: twinsHoldOnce },
  { name: 'a zombie cannot end a task', run: zombieIsFenced },
  { name: 'the reaper spares a renewed hold', run: reaperSparesTheLiving },
  { name: 'a month once closed stays closed', run: closedMonthStaysClosed },
  { name: 'a clock set back dates nothing into a closed month', run: clockSetBack },
  { name: 'a key identifies one booking, a debt is cleared once', run: corrections },
  { name: 'a debt blocks until it is repaid', run: debtBlocks },
  { name: 'a charge is refunded once', run: refundedOnce },
  { name: 'a won dispute repays the debt first', run: reinstatementRepaysDebt },
  { name: 'refunds and disputes end with credits that equal the money', run: paymentFollowed },
  { name: 'accounts are locked in the order of their ids', run: locksInOrder },
  { name: 'a hold waits for the previous one', run: holdsInTurn },
  { name: 'never more than the balance', run: (parts) => race(parts, undefined) },
  { name: 'never more than the key limit', run: (parts) => race(parts, '2.50') },
  { name: 'stories agree with the model', run: storiesAgree },
];

const STORIES = 40;

async function chargesAreExact(parts: Parts): Promise<void> {
  const price = fc.bigInt({ min: 0n, max: 10n ** 12n });
  const tokens = fc.nat({ max: 2_000_000 });
  const pricing = fc.tuple(price, price, price, price, price).map(
    ([prompt, completion, request, read, write]): Pricing => ({
      prompt,
      completion,
      request,
      image: 0n,
      web_search: 0n,
      internal_reasoning: 0n,
      input_cache_read: read + 1n,
      input_cache_write: write + 1n,
    }),
  );
  fc.assert(
    fc.property(pricing, tokens, tokens, tokens, tokens, (prices, fresh, read, write, output) => {
      const usage = {
        ...NO_USAGE,
        inputTokens: fresh + read + write,
        cacheReadTokens: read,
        cacheWriteTokens: write,
        outputTokens: output,
      };
      const charge = parts.chargeFor(usage, ONE_CALL, prices);
      const exact =
        BigInt(fresh) * prices.prompt +
        BigInt(read) * prices.input_cache_read +
        BigInt(write) * prices.input_cache_write +
        BigInt(output) * prices.completion +
        prices.request;
      expect(charge.amount).toBe((exact + 500n) / 1_000n);
      expect(Object.values(charge.lines).reduce((sum: bigint, line) => sum + line, 0n)).toBe(charge.amount);
    }),
    { numRuns: 1_000, seed: 20_261_121 },
  );
}

async function settledIsVisible(parts: Parts): Promise<void> {
  await withLedger(parts, silentObserver, async (ledger) => {
    const account = await fundedAccount(parts.db.database, '5');
    for (let round = 0; round < 5; round += 1) {
      const hold = await ledger.reserve(holdRequest(account, usd('0.5')));
      await ledger.settle(settlement(hold, usd('0.5')));
      const { rows } = await parts.db.database.money.query('SELECT charge FROM generations WHERE id = $1', [
        hold.id,
      ]);
      expect(rows).toEqual([{ charge: usd('0.5').toString() }]);
    }
  });
}

async function twinsHoldOnce(parts: Parts): Promise<void> {
  const store = parts.createStore(parts.db.database);
  const account = await fundedAccount(parts.db.database, '5');
  const request = holdRequest(account, usd('1'));
  const single = holdRequest(account, usd('1'));
  await store.reserve([request, request, single], 60_000);
  await expectBooks(parts);
  const release = { status: 'failed' as const };
  await store.settle(
    [request, single].map((hold) => ({
      settlement: settlement(hold, ZERO_USD, release),
      onlyExpired: false,
    })),
  );
}

async function zombieIsFenced(parts: Parts): Promise<void> {
  await withLedger(parts, silentObserver, async (ledger) => {
    const account = await fundedAccount(parts.db.database, '5');
    const task = {
      kind: 'image' as const,
      pool: 'local',
      parameters: {},
      seed: 1n,
      webhookUrl: null,
      deadlineMs: 60_000,
    };
    const hold = await ledger.reserve(holdRequest(account, usd('1'), { task }));
    await parts.db.database.money.query(`UPDATE tasks SET state = 'processing', attempt = 2 WHERE id = $1`, [
      hold.id,
    ]);
    const end = (attempt: number) =>
      ledger.settle(settlement(hold, usd('1'), { task: taskEnding(attempt, ['processing']) }));
    expect(await end(1)).toMatchObject({ outcome: 'fenced', charge: 0n });
    expect(await end(2)).toMatchObject({ outcome: 'settled', charge: usd('1') });
    expect(await end(1)).toMatchObject({ outcome: 'closed', charge: usd('1') });
  });
}

async function reaperSparesTheLiving(parts: Parts): Promise<void> {
  await withLedger(parts, silentObserver, async (ledger) => {
    const account = await fundedAccount(parts.db.database, '5');
    const hold = await ledger.reserve(holdRequest(account, usd('1')));
    expect(await ledger.settleExpired(settlement(hold, ZERO_USD, { status: 'failed' }))).toBe(false);
    expect((await ledger.settle(settlement(hold, usd('1')))).outcome).toBe('settled');
  });
}

/** A transaction that began in the old month settles after that month was closed. */
async function closedMonthStaysClosed(parts: Parts): Promise<void> {
  const account = await fundedAccount(parts.db.database, '5');
  const store = parts.createStore(parts.db.database);
  const request = holdRequest(account, usd('1'));
  await store.reserve([request], 60_000);
  const { rows } = await parts.db.database.money.query<{ ms: string }>(
    `SELECT extract(epoch FROM date_trunc('month', now(), 'UTC') + interval '1 month' - now()) * 1000 - 250 AS ms`,
  );
  const offset = `${Math.floor(Number(rows[0]!.ms))} ms`;
  const [slow, closer] = await Promise.all([
    parts.db.database.money.connect(),
    parts.db.database.money.connect(),
  ]);
  try {
    for (const client of [slow, closer]) {
      await client.query(`SELECT set_config('tollgate.clock_offset', $1, false)`, [offset]);
    }
    await slow.query('BEGIN');
    await slow.query('SELECT pg_sleep(0.4)');
    await closer.query('SELECT close_months($1)', [account.accountId]);
    await new LedgerStore(slow as never).settle([
      { settlement: settlement(request, usd('1')), onlyExpired: false },
    ]);
    await slow.query('COMMIT');
  } finally {
    slow.release(true);
    closer.release(true);
  }
  await expectBooks(parts, account.accountId);
}

async function debtBlocks(parts: Parts): Promise<void> {
  const { database } = parts.db;
  const account = await fundedAccount(database, '0');
  const movements = new Movements(() => database.money);
  const movement = (reference: string) => ({ accountId: account.accountId, reference, description: 'test' });
  const purchase = newUuid();
  await purchaseCredits(database, movement(purchase), usd('5'));
  await withLedger(parts, silentObserver, async (ledger) => {
    const hold = await ledger.reserve(holdRequest(account, usd('3')));
    await movements.reversePayment(movement(newUuid()), purchase, usd('5'));
    await ledger.settle(settlement(hold, usd('1')));
    expect(await owedBy(parts, account.accountId)).toBe(usd('1'));
    // a call that costs nothing: nothing is free beside a debt, so any other call would lack credits anyway
    const refused = { code: 'insufficient_credits' };
    await expect(ledger.reserve(holdRequest(account, ZERO_USD))).rejects.toMatchObject(refused);
    await purchaseCredits(database, movement(newUuid()), usd('3'));
    const free = await ledger.reserve(holdRequest(account, usd('1')));
    await ledger.settle(settlement(free, ZERO_USD, { status: 'failed' }));
  });
}

async function owedBy({ db }: Parts, accountId: string): Promise<bigint> {
  const { rows } = await db.database.money.query<{ debt: string }>(
    'SELECT debt FROM balances WHERE account_id = $1',
    [accountId],
  );
  return BigInt(rows[0]!.debt);
}

async function refundedOnce(parts: Parts): Promise<void> {
  const { database } = parts.db;
  const account = await fundedAccount(database, '5');
  await withLedger(parts, silentObserver, async (ledger) => {
    const hold = await ledger.reserve(holdRequest(account, usd('1')));
    await ledger.settle(settlement(hold, usd('1')));
    const give = () =>
      new Movements(() => database.money).refundCharge(
        { accountId: account.accountId, reference: newUuid(), description: 'test' },
        hold.id,
        usd('0.6'),
      );
    expect(await give()).toMatchObject({ amount: usd('0.6') });
    await expect(give()).rejects.toMatchObject({ code: 'invalid_parameter' });
  });
}

async function reinstatementRepaysDebt({ db: { database } }: Parts): Promise<void> {
  const { accountId } = await fundedAccount(database, '0');
  const movements = new Movements(() => database.money);
  const next = (reference = newUuid()) => ({ accountId, reference, description: '' });
  const purchase = newUuid();
  await purchaseCredits(database, next(purchase), usd('10'));
  await movements.adjust(next(), usd('-7'));
  await movements.reversePayment(next(), purchase, usd('10'));
  await movements.reinstatePayment(next(), purchase, usd('10'));
  const { rows } = await database.money.query('SELECT posted, debt FROM balances WHERE account_id = $1', [
    accountId,
  ]);
  expect(rows).toEqual([{ posted: usd('3').toString(), debt: '0' }]);
}

/**
 * 100 calls of 0.10 at once through the lanes of two processes: money for 50 of them over several keys, or a limit for 25 on the only
 * key.
 */
async function race(parts: Parts, limit: string | undefined): Promise<void> {
  const account = await fundedAccount(parts.db.database, '5.00', limit);
  const { accountId } = account;
  const others = limit === undefined ? [1, 2, 3] : [];
  const keys = [
    account.apiKeyId,
    ...(await Promise.all(others.map(() => testKey(parts.db.database, accountId)))),
  ];
  await withLedger(parts, silentObserver, (one) =>
    withLedger(parts, silentObserver, async (other) => {
      const calls = Array.from({ length: 100 }, (_, index) =>
        (index % 2 === 0 ? one : other).reserve(
          holdRequest({ accountId, apiKeyId: keys[index % keys.length]! }, usd('0.10')),
        ),
      );
      const outcomes = await Promise.allSettled(calls);
      const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      expect(outcomes.length - refusals.length).toBe(limit === undefined ? 50 : 25);
      const code = limit === undefined ? 'insufficient_credits' : 'key_limit_exceeded';
      expect(refusals.map((reason) => (reason instanceof AppError ? reason.code : reason))).toEqual(
        refusals.map(() => code),
      );
      const held = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      await Promise.all(held.map((hold) => one.settle(settlement(hold, usd('0.01')))));
    }),
  );
  await expectBooks(parts, account.accountId);
}

async function storiesAgree(parts: Parts): Promise<void> {
  const database = createDatabase(
    { url: parts.db.url, moneyConnections: 1, connections: 1 },
    () => undefined,
  );
  const ledger = testLedger(database);
  const verifier = new LedgerVerifier(database.money);
  try {
    await fc.assert(
      fc.asyncProperty(ledgerStory, async (story) => {
        const teller = await StoryRunner.begin(database, ledger);
        for (const command of story) {
          await teller.tell(command);
        }
        await teller.end();
        expect((await verifier.verify(teller.accountId)).violations).toEqual([]);
      }),
      { numRuns: STORIES, seed: 20_261_121, endOnFailure: true },
    );
  } finally {
    await database.close();
  }
}

async function withLedger(
  parts: Parts,
  observer: LaneObserver,
  use: (ledger: PostgresLedger) => Promise<void>,
): Promise<void> {
  await use(new PostgresLedger(parts.createStore(parts.db.database), silentLog, observer));
}

async function expectBooks(parts: Parts, accountId?: string): Promise<void> {
  const report = await new LedgerVerifier(parts.db.database.money).verify(accountId);
  expect(report.violations).toEqual([]);
}
