import type pg from 'pg';
import { jsonParameter, run } from '../store/statement.ts';
import type { PaymentMove } from './payment/payment.types.ts';
import { keepMoves, keepMovesSeen, movesSeen, movesWithoutPayout } from './payment-moves.sql.ts';

/** The moves of payments at a provider. */
export class PaymentMovesStore {
  readonly #pool: pg.Pool;
  readonly #provider: string;

  constructor(pool: pg.Pool, provider: string) {
    this.#pool = pool;
    this.#provider = provider;
  }

  /** Returns the time until which moves were read, initially that of the first payment; undefined while nothing has been paid. */
  async seen(): Promise<{ since: Date; now: Date } | undefined> {
    const [row] = await run<{ since: Date | null; now: Date }>(this.#pool, movesSeen, [this.#provider]);
    return row?.since ? { since: row.since, now: row.now } : undefined;
  }

  async keepSeen(until: Date): Promise<void> {
    await run(this.#pool, keepMovesSeen, [this.#provider, until]);
  }

  /** Returns the time of the oldest move of the last 90 days that is not in a payout yet. */
  async withoutPayoutSince(): Promise<Date | undefined> {
    const [row] = await run<{ since: Date | null }>(this.#pool, movesWithoutPayout, [this.#provider]);
    return row?.since ?? undefined;
  }

  /** Stores the moves of our payments; of a known move, updates the payout. Returns their ids. */
  async keep(moves: readonly PaymentMove[]): Promise<ReadonlySet<string>> {
    const rows = moves.map((move) => ({
      id: move.id,
      payment_id: move.paymentId,
      kind: move.kind,
      amount: move.amount,
      fee: move.fee,
      currency: move.currency,
      exchange_rate: move.exchangeRate,
      created_at: move.createdAt,
      available_at: move.availableAt,
      payout_id: move.payoutId,
      arrives_at: move.arrivesAt,
    }));
    const kept = await run<{ id: string }>(this.#pool, keepMoves, [this.#provider, jsonParameter(rows)]);
    return new Set(kept.map(({ id }) => id));
  }
}
