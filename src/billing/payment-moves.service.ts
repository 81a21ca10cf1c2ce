import type { MovesSource, PaymentMove } from './payment/payment.types.ts';
import type { PaymentInboxStore } from './payment-inbox.store.ts';
import type { PaymentMovesStore } from './payment-moves.store.ts';

const DAY_MS = 86_400_000;
/** A move may be listed some time after the time it is dated. */
const OVERLAP_MS = DAY_MS;
/** Days of history to read in one run; the next run continues. */
const DAYS_PER_RUN = 31;
const MOVES_AT_ONCE = 100;

/** What a payment itself moves. Anything else gives money back, takes it, or corrects one of both. */
const PAYMENT_KINDS: ReadonlySet<string> = new Set(['charge', 'payment']);

/**
 * Stores what a provider says its payments moved: amounts, fees, currency and dates, and the payout that took them to the bank. It
 * links the books to the records of the provider and of the bank. A refund or dispute among the moves is also put into the inbox: its event
 * may have been lost, and the credits of money that was returned must not stay.
 */
export class PaymentMovesService {
  readonly #store: PaymentMovesStore;
  readonly #source: MovesSource;
  readonly #inbox: Pick<PaymentInboxStore, 'store'>;

  constructor(store: PaymentMovesStore, source: MovesSource, inbox: Pick<PaymentInboxStore, 'store'>) {
    this.#store = store;
    this.#inbox = inbox;
    this.#source = source;
  }

  /** Reads new moves, up to 31 days of them. Returns how many were stored. Throws AppError provider_error; the next run continues. */
  async follow(): Promise<number> {
    const seen = await this.#store.seen();
    if (!seen) {
      return 0;
    }
    let kept = 0;
    let start = seen.since.getTime();
    for (let day = 0; day < DAYS_PER_RUN && start < seen.now.getTime(); day += 1) {
      const end = Math.min(start + DAY_MS, seen.now.getTime());
      kept += await this.#keep(this.#source.movesBetween(new Date(start - OVERLAP_MS), new Date(end)));
      await this.#store.keepSeen(new Date(end));
      start = end;
    }
    const unpaid = await this.#store.withoutPayoutSince();
    return unpaid ? kept + (await this.#keep(this.#source.paidOutSince(unpaid))) : kept;
  }

  async #keep(moves: AsyncIterable<PaymentMove>): Promise<number> {
    let kept = 0;
    let waiting: PaymentMove[] = [];
    for await (const move of moves) {
      waiting.push(move);
      if (waiting.length === MOVES_AT_ONCE) {
        kept += await this.#keepPage(waiting);
        waiting = [];
      }
    }
    return kept + (await this.#keepPage(waiting));
  }

  /** A repetition changes nothing: moves and events are each stored once. */
  async #keepPage(moves: readonly PaymentMove[]): Promise<number> {
    const kept = await this.#store.keep(moves);
    for (const { id, kind, paymentId } of moves) {
      if (kept.has(id) && !PAYMENT_KINDS.has(kind)) {
        await this.#inbox.store({ id: `move/${id}`, type: kind, subject: 'payment', objectId: paymentId });
      }
    }
    return kept.size;
  }
}
