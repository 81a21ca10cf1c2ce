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
import type { Deed, Passing } from './arbitrary-business.ts';

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

/** Money that moved outside, was adjusted by operators, refunded for calls, or forgiven. */
type Matter = 'cash' | 'adjusted' | 'refunded' | 'forgiven';

interface Move {
  readonly matter: Matter;
  /** In nano-USD, as requested. */
  readonly amount: bigint;
  /** The time the ledger gives it. */
  readonly at: Date;
}

/** Runs a business on a ledger whose clock it sets. Its sums record what really happened, independently of every other source. */
export class RunningBusiness {
  readonly customers: Customer[] = [];
  readonly #pool: pg.Pool;
  readonly #database: Database;
  readonly #movements: Movements;
  readonly #open: OpenCall[] = [];
  readonly #charges: OpenCall[] = [];
  readonly #payments: Payment[] = [];
  readonly #moves: Move[] = [];
  #nowMs: number;

  constructor(database: Database, url: string, start: string) {
    // one connection: the clock is set per session
    this.#pool = new pg.Pool({ connectionString: url, max: 1 });
    this.#database = { ...database, money: this.#pool };
    this.#movements = new Movements(() => this.#pool);
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
      // what the ledger rejects did not happen
      if (!(error instanceof AppError)) {
        throw error;
      }
    });
  }

  /** Ends open calls and closes every month that is over. */
  async finish(): Promise<void> {
    this.#nowMs = later(this.#nowMs, { pass: 'into the next month' });
    await this.#setClock();
    while (this.#open.length > 0) {
      await this.#endCall(0, 1n);
    }
    await testMonthClose(this.#database).closeDueMonths();
  }

  /** What really moved, in nano-USD; only what the ledger dates before `before`. */
  sumOf(matter: Matter, before = new Date(8.64e15)): bigint {
    return this.#moves
      .filter((move) => move.matter === matter && move.at < before)
      .reduce((sum, { amount }) => sum + amount, 0n);
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #moved(matter: Matter, amount: bigint, reference: string): Promise<void> {
    const { rows } = await this.#pool.query<{ at: Date }>(
      'SELECT at FROM ledger_entries WHERE reference = $1',
      [reference],
    );
    this.#moves.push({ matter, amount, at: rows[0]!.at });
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
    await this.#moved('cash', amount, reference);
  }

  /** Sent twice, like an operator who saw no answer: booked and audited once. */
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
    await this.#moved('adjusted', amount, movement.reference);
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
      await this.#moved('refunded', amount, movement.reference);
    }
  }

  async #movePayment(pick: number, amount: bigint, what: 'reverse' | 'win a dispute'): Promise<void> {
    const payment = this.#payments[pick % Math.max(1, this.#payments.length)];
    if (payment) {
      const movement = { accountId: payment.customer.id, reference: newUuid(), description: what };
      const move = what === 'reverse' ? 'reversePayment' : 'reinstatePayment';
      await this.#movements[move](movement, payment.reference, nanoUsd(amount));
      await this.#moved('cash', what === 'reverse' ? -amount : amount, movement.reference);
    }
  }

  async #clearDebt(customer: Customer, kind: 'forgiven' | 'paid'): Promise<void> {
    const movement = { accountId: customer.id, reference: newUuid(), description: kind };
    const { amount }: { amount: NanoUsd } = await this.#movements.clearDebt(movement, kind);
    await this.#moved(kind === 'paid' ? 'cash' : 'forgiven', amount, movement.reference);
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
