import type pg from 'pg';
import { jsonParameter, run } from '../store/statement.ts';
import type { PaymentEvent } from './payment/payment.types.ts';
import {
  claimPaymentEvents,
  failPaymentEvent,
  finishPaymentEvent,
  storePaymentEvent,
} from './payment-inbox.sql.ts';

/** The error of a waiting event about an object that is not ours, or not yet. The metrics of waiting events leave these out. */
export const UNKNOWN_OBJECT = 'unknown object, will retry';

export interface WaitingEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: PaymentEvent['subject'];
  readonly objectId: string | null;
  readonly receivedAt: Date;
}

interface InboxRow extends pg.QueryResultRow {
  readonly event_id: string;
  readonly type: string;
  readonly object_id: string | null;
  readonly subject: PaymentEvent['subject'];
  readonly received_at: Date;
}

/** The received payment events: each stored once and kept until it is processed. */
export class PaymentInboxStore {
  readonly #pool: pg.Pool;
  readonly #provider: string;

  constructor(pool: pg.Pool, provider: string) {
    this.#pool = pool;
    this.#provider = provider;
  }

  /** Stores an event. Returns false if it was stored before. Keeps only the references of its content: the rest is personal data. */
  async store(event: PaymentEvent): Promise<boolean> {
    const kept = jsonParameter({ subject: event.subject });
    const values = [this.#provider, event.id, event.type, event.objectId, kept];
    return (await run(this.#pool, storePaymentEvent, values)).length === 1;
  }

  /** Claims up to `limit` events that are due; no other process gets them for half a minute. */
  async claim(limit: number): Promise<WaitingEvent[]> {
    const rows = await run<InboxRow>(this.#pool, claimPaymentEvents, [this.#provider, limit]);
    return rows.map((row) => ({
      id: row.event_id,
      type: row.type,
      subject: row.subject,
      objectId: row.object_id,
      receivedAt: row.received_at,
    }));
  }

  async finish(eventId: string, problem: string | null): Promise<void> {
    await run(this.#pool, finishPaymentEvent, [this.#provider, eventId, problem]);
  }

  async fail(eventId: string, problem: string): Promise<void> {
    await run(this.#pool, failPaymentEvent, [this.#provider, eventId, problem]);
  }
}
