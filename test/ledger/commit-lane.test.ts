import { setImmediate } from 'node:timers/promises';
import { jest } from '@jest/globals';
import pg from 'pg';
import { CommitLane, type LaneObserver, type LaneOptions } from '../../src/ledger/commit-lane.ts';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import {
  fundedAccount,
  holdRequest,
  settlement,
  silentLog,
  silentObserver,
  testLedger,
  usd,
} from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

interface Item {
  readonly group: string;
  readonly value: number;
}

function databaseError(code: string, routine?: string): Error {
  return Object.assign(new Error(`SQLSTATE ${code}`), { code, routine });
}

function lane(
  send: LaneOptions<Item, number>['send'],
  changes: Partial<LaneOptions<Item, number>> = {},
): CommitLane<Item, number> {
  return new CommitLane({
    name: 'test',
    send,
    groupOf: (item) => item.group,
    batchItemsMax: 256,
    queueItemsMax: 1_000,
    giveUpAfterMs: 60_000,
    observer: silentObserver,
    ...changes,
  });
}

const values = (items: readonly Item[]) => items.map((item) => item.value);
const item = (value: number, group = 'a'): Item => ({ group, value });

describe('errors that say nothing about the item', () => {
  test.each([['42P05'], ['26000'], ['42501'], ['42P01'], ['0A000', 'RevalidateCachedQuery']])(
    '%s %s: resends until it works',
    async (code, routine = undefined) => {
      let tries = 0;
      const tested = lane((items) => {
        tries += 1;
        return tries < 4 ? Promise.reject(databaseError(code, routine)) : Promise.resolve(values(items));
      });
      expect(await Promise.all([1, 2].map((value) => tested.submit(item(value))))).toEqual([1, 2]);
    },
  );

  test('isolates an item the database cannot process and does not discard it', async () => {
    let isMended = false;
    const tested = lane((items) =>
      !isMended && items.some(({ value }) => value === 13)
        ? Promise.reject(databaseError('P0002'))
        : Promise.resolve(values(items)),
    );
    const stuck = tested.submit(item(13, 'unlucky'));
    const others = await Promise.all([1, 2, 3].map((value) => tested.submit(item(value))));
    expect(others).toEqual([1, 2, 3]);
    expect(await tested.submit(item(4))).toBe(4);
    isMended = true;
    expect(await stuck).toBe(13);
  });
});

test('halves a batch the database does not support, and gives back an item that alone is not supported', async () => {
  const quarantined: unknown[] = [];
  const refused = databaseError('0A000', 'deferred_router');
  const tested = lane(
    (items) => {
      const lieApart = new Set(items.map(({ group }) => group)).size > 1;
      return lieApart || items.some(({ value }) => value === 13)
        ? Promise.reject(refused)
        : Promise.resolve(values(items));
    },
    { observer: { ...silentObserver, itemQuarantined: (_lane, error) => quarantined.push(error) } },
  );
  const outcomes = await Promise.allSettled([
    tested.submit(item(1, 'a')),
    tested.submit(item(2, 'a')),
    tested.submit(item(3, 'b')),
    tested.submit(item(13, 'b')),
  ]);
  expect(
    outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason)),
  ).toEqual([1, 2, 3, refused]);
  expect(quarantined).toEqual([refused]);
});

/** Holds the lane's waits, so that a busy machine ends none of them early. */
function holdTimers(): void {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask', 'performance'],
  });
}

describe('batches', () => {
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  test('batches what arrives in one turn, and what arrives while it is in flight in the next batch', async () => {
    const batches: number[][] = [];
    let inFlight = 0;
    const tested = lane(async (items) => {
      inFlight += 1;
      expect(inFlight).toBe(1);
      batches.push(values(items));
      await new Promise((resolve) => setTimeout(resolve, 5));
      inFlight -= 1;
      return values(items);
    });
    const submit = (...several: number[]) => several.map((value) => tested.submit(item(value)));
    const first = submit(1, 2);
    await setImmediate();
    const second = submit(3);
    await setImmediate();
    const results = await Promise.all([...first, ...second, ...submit(4, 5)]);
    expect(results).toEqual([1, 2, 3, 4, 5]);
    expect(batches).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
  });

  test('makes the first of a returning herd wait for nine tenths of it, but never delays a lone item', async () => {
    holdTimers();
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const sizes: number[] = [];
    const tested = lane((items) => {
      sizes.push(items.length);
      nowMs += 4;
      return Promise.resolve(values(items));
    });
    const submit = (value: number) => tested.submit(item(value));
    await Promise.all(Array.from({ length: 21 }, (_, value) => submit(value)));
    expect(sizes).toEqual([21]);
    const returning: Promise<number>[] = [];
    while (returning.length < 21) {
      returning.push(submit(returning.length));
      await setImmediate();
    }
    // the two that came last are a new herd's first
    jest.advanceTimersByTime(4);
    await Promise.all(returning);
    expect(sizes).toEqual([21, 19, 2]);
    nowMs += 1_000;
    const batches = sizes.length;
    const lone = submit(1);
    await setImmediate();
    expect(sizes.slice(batches)).toEqual([1]);
    await lone;
  });

  test('waits for a herd that stays away no longer than its commit took', async () => {
    holdTimers();
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const sizes: number[] = [];
    const tested = lane((items) => {
      sizes.push(items.length);
      nowMs += 4;
      return Promise.resolve(values(items));
    });
    await Promise.all(Array.from({ length: 21 }, (_, value) => tested.submit(item(value))));
    const first = tested.submit(item(1));
    await setImmediate();
    jest.advanceTimersByTime(3);
    await setImmediate();
    expect(sizes).toEqual([21]);
    jest.advanceTimersByTime(1);
    await first;
    expect(sizes).toEqual([21, 1]);
  });

  test('gathers sixteen items while calls wait for their turn, and waits at most 20 ms for them', async () => {
    holdTimers();
    let isCrowded = true;
    const sizes: number[] = [];
    const tested = lane(
      (items) => {
        sizes.push(items.length);
        return Promise.resolve(values(items));
      },
      { isCrowded: () => isCrowded },
    );
    const submit = (count: number) => Array.from({ length: count }, (_, value) => tested.submit(item(value)));
    const afterTurns = async () => {
      for (let turn = 0; turn < 5; turn += 1) {
        await setImmediate();
      }
      return sizes;
    };
    const few = submit(15);
    expect(await afterTurns()).toEqual([]);
    await Promise.all([...few, ...submit(1)]);
    expect(sizes).toEqual([16]);
    const fewer = submit(2);
    await afterTurns();
    jest.advanceTimersByTime(19);
    expect(await afterTurns()).toEqual([16]);
    jest.advanceTimersByTime(1);
    expect(await afterTurns()).toEqual([16, 2]);
    isCrowded = false;
    expect(await Promise.all([...fewer, ...submit(1)])).toEqual([0, 1, 0]);
    expect(sizes).toEqual([16, 2, 1]);
  });

  test('never makes a batch larger than its maximum', async () => {
    const sizes: number[] = [];
    const tested = lane(
      (items) => {
        sizes.push(items.length);
        return Promise.resolve(values(items));
      },
      { batchItemsMax: 10 },
    );
    await Promise.all(Array.from({ length: 35 }, (_, value) => tested.submit(item(value))));
    expect(Math.max(...sizes)).toBe(10);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(35);
  });

  test('rejects the items of an unanswered statement and those behind it in time, and reports the ones that went through', async () => {
    let answer: (() => void) | undefined;
    const silence = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const late: number[] = [];
    const tested = lane((items) => silence.then(() => values(items)), {
      giveUpAfterMs: 120,
      onLate: ({ value }) => late.push(value),
    });
    const first = tested.submit(item(1));
    await setImmediate();
    const outcomes = await Promise.allSettled([first, ...[2, 3].map((value) => tested.submit(item(value)))]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual(
      Array(3).fill('service_unavailable'),
    );
    answer?.();
    await tested.flush();
    // the first was in the silent statement; the others were never sent
    expect(late).toEqual([1]);
  });

  test('rejects at once when full, and accepts items again when it has room', async () => {
    let release: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tested = lane(
      async (items) => {
        await gate;
        return values(items);
      },
      { queueItemsMax: 2 },
    );
    const first = tested.submit(item(0));
    await setImmediate();
    const waiting = [tested.submit(item(1)), tested.submit(item(2))];
    await expect(tested.submit(item(3))).rejects.toMatchObject({
      code: 'service_unavailable',
      retryAfterSeconds: 1,
    });
    release?.();
    await Promise.all([first, ...waiting]);
    await expect(tested.submit(item(4))).resolves.toBe(4);
  });

  test('drops an item whose caller left before it was sent', async () => {
    const sent: number[] = [];
    const tested = lane(async (items) => {
      sent.push(...values(items));
      await new Promise((resolve) => setTimeout(resolve, 5));
      return values(items);
    });
    const departed = new AbortController();
    const first = tested.submit(item(1));
    const second = tested.submit(item(2), departed.signal);
    departed.abort(new Error('client left'));
    await expect(second).rejects.toThrow('client left');
    await first;
    expect(sent).toEqual([1]);
  });
});

describe('failures', () => {
  test('resends the very same items after a lost reply', async () => {
    const sent: number[][] = [];
    const tested = lane((items) => {
      sent.push(values(items));
      return sent.length < 3
        ? Promise.reject(new Error('Connection terminated unexpectedly'))
        : Promise.resolve(values(items));
    });
    await expect(tested.submit(item(7))).resolves.toBe(7);
    expect(sent).toEqual([[7], [7], [7]]);
  });

  test('retries when a deadlock was resolved at our expense', async () => {
    let tries = 0;
    const tested = lane((items) => {
      tries += 1;
      return tries === 1 ? Promise.reject(databaseError('40P01')) : Promise.resolve(values(items));
    });
    await expect(tested.submit(item(7))).resolves.toBe(7);
  });

  test('finds a poison item by halving, rejects only that one, reports it, and lets the others through', async () => {
    const quarantined: unknown[] = [];
    const observer: LaneObserver = {
      ...silentObserver,
      itemQuarantined: (_, error) => quarantined.push(error),
    };
    let first = true;
    const tested = lane(
      async (items) => {
        if (first) {
          first = false;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        if (items.some((candidate) => candidate.value === 13)) {
          throw databaseError('23514');
        }
        return values(items);
      },
      { observer },
    );
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, value) => tested.submit(item(value))),
    );
    expect(outcomes.flatMap((outcome, index) => (outcome.status === 'rejected' ? [index] : []))).toEqual([
      13,
    ]);
    expect(quarantined).toHaveLength(1);
  });

  test('rejects an item that may be given up with service_unavailable in bounded time', async () => {
    const tested = lane(() => Promise.reject(new Error('ECONNREFUSED')), { giveUpAfterMs: 120 });
    const startedAt = performance.now();
    await expect(tested.submit(item(1))).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });
});

describe('on Postgres', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db?.close());

  test('does not hold up other accounts while one account is locked', async () => {
    const ledger = testLedger(db.database);
    const accounts = await Promise.all(Array.from({ length: 8 }, () => fundedAccount(db.database, '5')));
    const [stuck, ...free] = accounts;
    const blocker = new pg.Client({ connectionString: db.ownerUrl });
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('SELECT 1 FROM balances WHERE account_id = $1 FOR UPDATE', [stuck!.accountId]);
    const waiting = ledger.reserve(holdRequest(stuck!, usd('1')));
    const others = await Promise.all(free.map((account) => ledger.reserve(holdRequest(account, usd('1')))));
    const second = await Promise.all(free.map((account) => ledger.reserve(holdRequest(account, usd('1')))));
    await blocker.query('ROLLBACK');
    await blocker.end();
    const late = await waiting;
    await Promise.all(
      [late, ...others, ...second].map((hold) => ledger.settle(settlement(hold, usd('0.1')))),
    );
    await ledger.close();
  });

  test('charges a settlement once when the reply to its COMMIT was lost', async () => {
    const account = await fundedAccount(db.database, '5');
    const store = new LedgerStore(db.database.money);
    let lose = true;
    const deaf = Object.assign(Object.create(store) as LedgerStore, {
      settle: async (items: Parameters<LedgerStore['settle']>[0]) => {
        const rows = await store.settle(items);
        if (lose) {
          lose = false;
          throw new Error('Connection terminated unexpectedly');
        }
        return rows;
      },
      reserve: store.reserve.bind(store),
      renew: store.renew.bind(store),
    });
    const ledger = new PostgresLedger(deaf, silentLog, silentObserver);
    const hold = await ledger.reserve(holdRequest(account, usd('1')));
    expect(await ledger.settle(settlement(hold, usd('0.3')))).toMatchObject({
      outcome: 'closed',
      charge: usd('0.3'),
    });
    const { rows } = await db.database.money.query('SELECT posted FROM balances WHERE account_id = $1', [
      account.accountId,
    ]);
    expect(rows).toEqual([{ posted: usd('4.7').toString() }]);
    await ledger.close();
  });
});
