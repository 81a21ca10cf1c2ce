import fc from 'fast-check';
import type { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { AppError } from '../../src/lib/errors.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { createDatabase, type Database } from '../../src/store/database.ts';
import { fundedAccount, holdRequest, settlement, type TestAccount, testLedger } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** Limits that renew, compared with a model that keeps the charges of the period in a list. */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A Thursday noon in UTC, three days before a month begins and four before a week does. */
const BEGINNING = Date.UTC(2027, 0, 28, 12);
const STORIES = 40;

type Reset = 'daily' | 'weekly' | 'monthly';

interface Charge {
  readonly generation: string;
  readonly at: number;
  readonly amount: bigint;
  refunded: bigint;
}

interface OpenHold {
  readonly id: string;
  amount: bigint;
}

class BudgetModel {
  limit: bigint | null;
  reset: Reset | null = null;
  /** Start of the count; `counted` holds the charges since then. */
  since = Number.NEGATIVE_INFINITY;
  counted: Charge[] = [];
  all: Charge[] = [];
  readonly open: OpenHold[] = [];
  /** An entry is never dated before the previous one. */
  lastEntryAt: number;

  /** `openedAt`: when the account's first entry was booked. */
  constructor(limit: bigint, openedAt: number) {
    this.limit = limit;
    this.lastEntryAt = openedAt;
  }

  get held(): bigint {
    return this.open.reduce((sum, hold) => sum + hold.amount, 0n);
  }

  spent(at: number): bigint {
    return this.#isOver(at) ? 0n : this.counted.reduce((sum, one) => sum + one.amount - this.#given(one), 0n);
  }

  free(at: number): bigint {
    return this.limit === null ? 1n << 60n : this.limit - this.spent(at) - this.held;
  }

  roll(at: number): void {
    if (this.#isOver(at)) {
      this.since = periodStart(this.reset!, at);
      this.counted = [];
    }
  }

  count(reset: Reset | null, at: number): void {
    if (reset !== this.reset) {
      // after every existing entry: the database counts in microseconds
      this.since = reset === null ? Number.NEGATIVE_INFINITY : Math.max(at, this.lastEntryAt + 0.001);
      this.counted = reset === null ? [...this.all] : [];
      this.reset = reset;
    }
  }

  #isOver(at: number): boolean {
    return this.reset !== null && periodStart(this.reset, at) > this.since;
  }

  /** A refund frees budget only in the period of its charge. */
  #given({ at, refunded }: Charge): bigint {
    return at < this.since ? 0n : refunded;
  }
}

function periodStart(reset: Reset, at: number): number {
  const date = new Date(at);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const sinceMonday = (date.getUTCDay() + 6) % 7;
  return Date.UTC(year, month, reset === 'monthly' ? 1 : reset === 'daily' ? day : day - sinceMonday);
}

const amount = fc.bigInt({ min: 1n, max: 40n });
const pick = fc.nat(9);
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('reserve' as const), amount }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('settle' as const), pick, permille: fc.nat(1_300) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('extend' as const), pick, amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), pick, amount }) },
  // forward by hours or days, and back: a call may be settled in another period than it was held in
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('clock' as const), hours: fc.integer({ min: -30, max: 60 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('limit' as const),
      limit: fc.option(fc.bigInt({ min: 0n, max: 120n })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('reset' as const),
      reset: fc.constantFrom<Reset | null>('daily', 'weekly', 'monthly', null),
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

let db: TestDatabase;
/** One connection: the clock is set per session. */
let database: Database;
let ledger: PostgresLedger;
let movements: Movements;

beforeAll(async () => {
  db = await createTestDatabase();
  database = createDatabase({ url: db.url, moneyConnections: 1, connections: 1 }, () => undefined);
  ledger = testLedger(database);
  movements = new Movements(() => database.money);
});

afterAll(async () => {
  await ledger?.close();
  await database?.close();
  await db?.close();
});

/** Sets the ledger's clock. Between two moves it runs on by itself, for far less than an hour. */
class LedgerClock {
  readonly #startedAt = Date.now();
  #hours = 0;

  async set(hours: number): Promise<void> {
    this.#hours = hours;
    const offsetMs = BEGINNING + hours * HOUR_MS - this.#startedAt;
    await database.money.query(`SELECT set_config('tollgate.clock_offset', $1, false)`, [`${offsetMs} ms`]);
  }

  get hours(): number {
    return this.#hours;
  }

  /** Unix ms on the ledger's clock. */
  now(): number {
    return BEGINNING + this.#hours * HOUR_MS + (Date.now() - this.#startedAt);
  }
}

async function codeOf(outcome: Promise<bigint>): Promise<bigint | string> {
  return outcome.catch((error: unknown) => {
    if (error instanceof AppError) {
      return error.code;
    }
    throw error;
  });
}

class Story {
  readonly #account: TestAccount;
  readonly #clock: LedgerClock;
  readonly #model: BudgetModel;

  constructor(account: TestAccount, clock: LedgerClock, limit: bigint) {
    this.#account = account;
    this.#clock = clock;
    this.#model = new BudgetModel(limit, clock.now());
  }

  async tell(told: Command): Promise<void> {
    const model = this.#model;
    const { accountId, apiKeyId } = this.#account;
    switch (told.do) {
      case 'reserve':
        return await this.#reserve(told.amount);
      case 'settle':
        return await this.#settle(told.pick, told.permille);
      case 'extend':
        return await this.#extend(told.pick, told.amount);
      case 'refund':
        return await this.#refund(told.pick, told.amount);
      case 'clock':
        return await this.#clock.set(this.#clock.hours + told.hours);
      case 'limit':
        model.limit = told.limit;
        await movements.changeKey(accountId, apiKeyId, {
          limit: told.limit === null ? null : nanoUsd(told.limit),
        });
        return model.roll(this.#clock.now());
      case 'reset':
        await movements.changeKey(accountId, apiKeyId, { limitReset: told.reset });
        model.roll(this.#clock.now());
        return model.count(told.reset, this.#clock.now());
    }
  }

  async #reserve(wanted: bigint): Promise<void> {
    const model = this.#model;
    const request = holdRequest(this.#account, nanoUsd(wanted));
    const fits = model.free(this.#clock.now()) >= wanted;
    const outcome = await codeOf(ledger.reserve(request).then(({ granted }) => granted));
    expect(outcome).toBe(fits ? wanted : 'key_limit_exceeded');
    if (fits) {
      model.roll(this.#clock.now());
      model.open.push({ id: request.id, amount: wanted });
    }
  }

  async #settle(index: number, permille: number): Promise<void> {
    const model = this.#model;
    const hold = model.open[index % Math.max(model.open.length, 1)];
    if (!hold) {
      return;
    }
    const due = (hold.amount * BigInt(permille)) / 1_000n;
    const { charge } = await ledger.settle(settlement({ ...this.#account, id: hold.id }, nanoUsd(due)));
    const at = Math.max(model.lastEntryAt, this.#clock.now());
    const room = model.free(at) > 0n ? model.free(at) : 0n;
    const stands = due > hold.amount + room ? hold.amount + room : due;
    expect(charge).toBe(stands);
    model.roll(at);
    model.open.splice(model.open.indexOf(hold), 1);
    model.lastEntryAt = at;
    if (charge > 0n) {
      const booked = { generation: hold.id, at, amount: charge, refunded: 0n };
      model.counted.push(booked);
      model.all.push(booked);
    }
  }

  async #extend(index: number, extra: bigint): Promise<void> {
    const model = this.#model;
    const hold = model.open[index % Math.max(model.open.length, 1)];
    if (!hold) {
      return;
    }
    const fits = model.free(this.#clock.now()) >= extra;
    const held = { ...this.#account, id: hold.id, granted: nanoUsd(hold.amount) };
    expect(await ledger.extend(held, nanoUsd(extra))).toBe(fits ? hold.amount + extra : undefined);
    if (fits) {
      model.roll(this.#clock.now());
      hold.amount += extra;
    }
  }

  async #refund(index: number, given: bigint): Promise<void> {
    const model = this.#model;
    const charge = model.all[index % Math.max(model.all.length, 1)];
    if (!charge || charge.refunded + given > charge.amount) {
      return;
    }
    const movement = { accountId: this.#account.accountId, reference: newUuid(), description: 'refund' };
    await movements.refundCharge(movement, charge.generation, nanoUsd(given));
    model.lastEntryAt = Math.max(model.lastEntryAt, this.#clock.now());
    model.roll(this.#clock.now());
    charge.refunded += given;
  }

  async end(): Promise<void> {
    while (this.#model.open.length > 0) {
      await this.#settle(0, 1_000);
    }
    await this.compare();
  }

  async compare(): Promise<void> {
    const { rows } = await database.money.query(
      `SELECT spent - limit_base(limit_reset, counted_from, spent, spent_before, ledger_now()) AS counted, held
         FROM api_keys WHERE id = $1`,
      [this.#account.apiKeyId],
    );
    const model = this.#model;
    const counted = model.spent(this.#clock.now());
    expect(rows).toEqual([{ counted: counted.toString(), held: model.held.toString() }]);
    expect(counted).toBeGreaterThanOrEqual(0n);
  }
}

test('computes what a key may spend within the statement, without a function call per key', async () => {
  const columns = 'k.limit_reset, k.counted_from, k.spent, k.spent_before, ledger_now()';
  const { rows } = await database.money.query(
    `EXPLAIN (VERBOSE) SELECT limit_free(k.limit_nano, k.held, ${columns}), limit_base(${columns}),
       budget_start(k.limit_reset, k.created_at) FROM api_keys k`,
  );
  expect(JSON.stringify(rows)).not.toMatch(/(limit_free|limit_base|budget_start)\(/);
});

test(`matches the model in ${STORIES} stories of a renewing limit, with calls across the boundary and clocks that step back`, async () => {
  const verifier = new LedgerVerifier(database.money);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Reset>('daily', 'weekly', 'monthly'),
      fc.array(command, { minLength: 20, maxLength: 40 }),
      async (reset, commands) => {
        const clock = new LedgerClock();
        await clock.set(0);
        const account = await fundedAccount(database, '5', '0.0000001');
        const story = new Story(account, clock, 100n);
        for (const told of [{ do: 'reset' as const, reset }, ...commands]) {
          await story.tell(told);
          await story.compare();
        }
        await story.end();
        expect((await verifier.verify(account.accountId)).violations).toEqual([]);
      },
    ),
    { numRuns: STORIES },
  );
});

test('ends a day at 00:00 UTC to the millisecond, and says in the rejection when the limit renews', async () => {
  const startedAt = Date.now();
  const setTo = (time: number) =>
    database.money.query(`SELECT set_config('tollgate.clock_offset', $1, false)`, [`${time - startedAt} ms`]);
  const midnight = Math.ceil(BEGINNING / DAY_MS) * DAY_MS;
  await setTo(midnight - HOUR_MS);
  const account = await fundedAccount(database, '5', '0.0000001');
  await movements.changeKey(account.accountId, account.apiKeyId, { limitReset: 'daily' });
  const first = await ledger.reserve(holdRequest(account, nanoUsd(60n)));
  const straddling = await ledger.reserve(holdRequest(account, nanoUsd(40n)));
  await ledger.settle(settlement(first, nanoUsd(60n)));
  await expect(ledger.reserve(holdRequest(account, nanoUsd(1n)))).rejects.toMatchObject({
    code: 'key_limit_exceeded',
    message: expect.stringContaining('wait until it renews (at 00:00 UTC)'),
  });
  // before a body is read nobody knows what the call needs
  const anything = ledger.requireFunds(account.accountId, account.apiKeyId);
  await expect(anything).rejects.toThrow(
    /^Insufficient credits: the limit of this API key leaves 0\.00 USD free\. To/,
  );
  await setTo(midnight);
  // held across the boundary, it counts in the new day: 40 are held, 60 are free
  await expect(ledger.reserve(holdRequest(account, nanoUsd(61n)))).rejects.toThrow('Insufficient credits');
  await ledger.settle(settlement(straddling, nanoUsd(40n)));
  const rest = await ledger.reserve(holdRequest(account, nanoUsd(60n)));
  await ledger.settle(settlement(rest, nanoUsd(0n)));
  await setTo(midnight - HOUR_MS);
  // back in yesterday, the count of the new day continues
  await expect(ledger.reserve(holdRequest(account, nanoUsd(61n)))).rejects.toThrow('Insufficient credits');
});
