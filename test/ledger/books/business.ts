import fc from 'fast-check';
import pg from 'pg';
import { Movements } from '../../../src/ledger/movements.ts';
import { AppError } from '../../../src/lib/errors.ts';
import { newUuid, publicId } from '../../../src/lib/ids.ts';
import { type NanoUsd, nanoUsd } from '../../../src/lib/money.ts';
import type { Database } from '../../../src/store/database.ts';
import { UsageDays } from '../../../src/usage/usage-days.store.ts';
import { createKey, type TestKey } from '../../factories/api-key.ts';
import { holdRequest, purchaseCredits, settlement, testLedger } from '../../factories/ledger.ts';
import { testMonthClose } from '../../factories/month-close.ts';

/** How time goes on before something is done: mostly forward, to a month's end and over it, and back as after a bad clock. */
export type Passing =
  | { readonly pass: 'minutes' | 'days'; readonly count: number }
  | { readonly pass: 'to the end of the month' | 'into the next month' }
  | { readonly pass: 'back'; readonly seconds: number };

/** What a business does; indexes pick among what there is. */
export interface Deed {
  readonly passing: Passing;
  readonly account: number;
  readonly act:
    | 'buy'
    | 'grant'
    | 'take'
    | 'begin a call'
    | 'end a call'
    | 'refund'
    | 'reverse'
    | 'win a dispute'
    | 'forgive'
    | 'be paid by bank'
    | 'close'
    | 'sum days';
  readonly amount: bigint;
  readonly pick: number;
}

export interface Business {
  readonly start: string;
  readonly deeds: readonly Deed[];
}

const passing: fc.Arbitrary<Passing> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ pass: fc.constant('minutes' as const), count: fc.nat(600) }) },
  {
    weight: 2,
    arbitrary: fc.record({ pass: fc.constant('days' as const), count: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 2, arbitrary: fc.record({ pass: fc.constant('to the end of the month' as const) }) },
  { weight: 2, arbitrary: fc.record({ pass: fc.constant('into the next month' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ pass: fc.constant('back' as const), seconds: fc.integer({ min: 1, max: 7_200 }) }),
  },
);

const act = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('buy' as const, 'begin a call' as const, 'end a call' as const) },
  { weight: 2, arbitrary: fc.constantFrom('close' as const, 'reverse' as const, 'refund' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...(['grant', 'take', 'win a dispute', 'forgive', 'be paid by bank', 'sum days'] as const),
    ),
  },
);

/** The leap day, the ends of short months and of a year, the night that clocks go forward in America. */
const STARTS = [
  '2024-02-28T23:30:00Z',
  '2023-12-31T23:58:00Z',
  '2023-01-30T22:00:00Z',
  '2024-03-10T06:55:00Z',
];

const deed: fc.Arbitrary<Deed> = fc.record({
  passing,
  account: fc.nat(1),
  act,
  amount: fc.bigInt({ min: 1n, max: 9_000_000_000n }),
  pick: fc.nat(30),
});

/** A month is closed as soon as it is over; then the clock steps back into it, and business goes on. */
const closeAndStepBack: fc.Arbitrary<Deed[]> = fc
  .tuple(deed, deed, fc.integer({ min: 6, max: 60 }))
  .map(([close, next, seconds]) => [
    { ...close, passing: { pass: 'into the next month' }, act: 'close' },
    { ...next, passing: { pass: 'back', seconds } },
  ]);

export const business: fc.Arbitrary<Business> = fc.record({
  start: fc.constantFrom(...STARTS),
  deeds: fc
    .array(
      fc.oneof(
        { weight: 5, arbitrary: deed.map((one) => [one]) },
        { weight: 1, arbitrary: closeAndStepBack },
      ),
      { minLength: 25, maxLength: 45 },
    )
    .map((parts) => parts.flat()),
});

export interface Customer {
  readonly id: string;
  readonly key: TestKey;
}

interface OpenCall {
  readonly customer: Customer;
  readonly hold: { id: string; accountId: string; apiKeyId: string };
}

interface Payment {
  readonly customer: Customer;
  readonly reference: string;
}

/** A business that is run on a ledger whose clock it sets. Its sums are what really happened, told by nobody else. */
export class RunningBusiness {
  /** Money that moved outside, in nano-USD. */
  cash = 0n;
  /** Adjustments by operators, as they were asked for. */
  adjusted = 0n;
  readonly customers: Customer[] = [];
  readonly #pool: pg.Pool;
  readonly #database: Database;
  readonly #movements: Movements;
  readonly #open: OpenCall[] = [];
  readonly #charges: OpenCall[] = [];
  readonly #payments: Payment[] = [];
  #nowMs: number;

  constructor(database: Database, url: string, start: string) {
    // one connection: the clock is the session's
    this.#pool = new pg.Pool({ connectionString: url, max: 1 });
    this.#database = { ...database, money: this.#pool };
    this.#movements = new Movements(this.#pool);
    this.#nowMs = Date.parse(start);
  }

  async open(): Promise<void> {
    await this.#setClock();
    for (let count = 0; count < 2; count += 1) {
      const id = newUuid();
      await this.#movements.openAccount(id, `customer ${count}`);
      this.customers.push({ id, key: await createKey(this.#database, id) });
    }
  }

  async run({ passing: time, ...deed }: Deed): Promise<void> {
    this.#nowMs = later(this.#nowMs, time);
    await this.#setClock();
    await this.#do(deed).catch((error: unknown) => {
      // what the ledger refuses did not happen
      if (!(error instanceof AppError)) {
        throw error;
      }
    });
  }

  /** Ends what is open and closes every month that is over. */
  async finish(): Promise<void> {
    this.#nowMs = later(this.#nowMs, { pass: 'into the next month' });
    await this.#setClock();
    while (this.#open.length > 0) {
      await this.#endCall(0, 1n);
    }
    await testMonthClose(this.#database).closeDueMonths();
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #setClock(): Promise<void> {
    const offset = `${this.#nowMs - Date.now()} milliseconds`;
    await this.#pool.query(`SELECT set_config('tollgate.clock_offset', $1, false)`, [offset]);
  }

  async #do({ account, act: what, amount, pick }: Omit<Deed, 'passing'>): Promise<void> {
    const customer = this.customers[account]!;
    switch (what) {
      case 'buy':
        return this.#buy(customer, amount);
      case 'grant':
        return this.#adjust(customer, amount);
      case 'take':
        return this.#adjust(customer, -amount);
      case 'begin a call':
        return this.#beginCall(customer, amount);
      case 'end a call':
        return this.#endCall(pick, amount);
      case 'refund':
        return this.#refund(pick, amount);
      case 'reverse':
      case 'win a dispute':
        return this.#movePayment(pick, amount, what);
      case 'forgive':
      case 'be paid by bank':
        return this.#clearDebt(customer, what === 'forgive' ? 'forgiven' : 'paid');
      case 'close':
        await testMonthClose(this.#database).closeDueMonths();
        return;
      case 'sum days':
        await new UsageDays(this.#pool).rollUp();
    }
  }

  async #buy(customer: Customer, amount: bigint): Promise<void> {
    const reference = newUuid();
    const movement = { accountId: customer.id, reference, description: 'Purchase of credits' };
    await purchaseCredits(this.#database, movement, nanoUsd(amount));
    this.#payments.push({ customer, reference });
    this.cash += amount;
  }

  /** Sent twice, as an operator does who saw no answer: booked and audited once. */
  async #adjust(customer: Customer, amount: bigint): Promise<void> {
    const movement = {
      accountId: customer.id,
      reference: newUuid(),
      description: 'By hand',
      act: {
        actor: 'alice',
        request_id: 'req_test',
        action: 'account.adjust',
        object: publicId('account', customer.id),
        detail: { amount: String(amount) },
      },
    };
    await this.#movements.adjust(movement, nanoUsd(amount));
    this.adjusted += amount;
    await this.#movements.adjust(movement, nanoUsd(amount));
  }

  async #beginCall(customer: Customer, amount: bigint): Promise<void> {
    const account = { accountId: customer.id, apiKeyId: customer.key.id };
    const model = amount % 2n === 0n ? 'acme/even' : 'acme/odd';
    const hold = holdRequest(account, nanoUsd(amount), { minimum: nanoUsd(1n), model });
    await testLedger(this.#database).reserve(hold);
    this.#open.push({ customer, hold });
  }

  async #endCall(pick: number, amount: bigint): Promise<void> {
    const [call] = this.#open.splice(pick % Math.max(1, this.#open.length), 1);
    if (call) {
      await testLedger(this.#database).settle(settlement(call.hold, nanoUsd(amount)));
      this.#charges.push(call);
    }
  }

  async #refund(pick: number, amount: bigint): Promise<void> {
    const charge = this.#charges[pick % Math.max(1, this.#charges.length)];
    if (charge) {
      const movement = { accountId: charge.customer.id, reference: newUuid(), description: 'Bad answer' };
      await this.#movements.refundCharge(movement, charge.hold.id, nanoUsd(amount));
    }
  }

  async #movePayment(pick: number, amount: bigint, what: 'reverse' | 'win a dispute'): Promise<void> {
    const payment = this.#payments[pick % Math.max(1, this.#payments.length)];
    if (payment) {
      const movement = { accountId: payment.customer.id, reference: newUuid(), description: what };
      const move = what === 'reverse' ? 'reversePayment' : 'reinstatePayment';
      await this.#movements[move](movement, payment.reference, nanoUsd(amount));
      this.cash += what === 'reverse' ? -amount : amount;
    }
  }

  async #clearDebt(customer: Customer, kind: 'forgiven' | 'paid'): Promise<void> {
    const movement = { accountId: customer.id, reference: newUuid(), description: kind };
    const { amount }: { amount: NanoUsd } = await this.#movements.clearDebt(movement, kind);
    this.cash += kind === 'paid' ? amount : 0n;
  }
}

function later(nowMs: number, time: Passing): number {
  const now = new Date(nowMs);
  const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  switch (time.pass) {
    case 'minutes':
      return nowMs + time.count * 60_000;
    case 'days':
      return nowMs + time.count * 86_400_000;
    case 'to the end of the month':
      return nextMonth - 2_000;
    case 'into the next month':
      return nextMonth + 5_000;
    case 'back':
      return nowMs - time.seconds * 1_000;
  }
}
