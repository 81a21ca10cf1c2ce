import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { CheckoutService } from './checkout.service.ts';
import type { CheckoutStore } from './checkout.store.ts';
import { PaymentMismatch } from './checkout-outcome.ts';
import type { PaymentEvent } from './payment/payment.types.ts';
import { type PaymentInboxStore, UNKNOWN_OBJECT, type WaitingEvent } from './payment-inbox.store.ts';
import type { ReversalsService } from './reversals.service.ts';

/**
 * How long an event is kept that may never be applied: one about an unknown object may have arrived before its object, and one about a
 * payment of another amount raises an alarm until then.
 */
const KEPT_MS = 3 * 24 * 3_600_000;

export interface PaymentInboxParts {
  readonly inbox: PaymentInboxStore;
  readonly sessions: CheckoutStore;
  readonly checkout: CheckoutService;
  readonly reversals: ReversalsService;
}

/**
 * Processes payment events. An event only names the object to ask the provider about, so order,
 * repetition and content of events don't matter.
 */
export class PaymentInboxService {
  readonly #parts: PaymentInboxParts;
  readonly #provider: string;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(parts: PaymentInboxParts, provider: string, clock: Clock, log: Logger) {
    this.#parts = parts;
    this.#provider = provider;
    this.#clock = clock;
    this.#log = log;
  }

  /** Stores a verified event. Once this resolves, the event will be processed, whatever happens to this process. */
  async receive(event: PaymentEvent): Promise<void> {
    await this.#parts.inbox.store(event);
  }

  /**
   * Processes up to `limit` waiting events. Returns how many it took; failed ones are retried later. Rejects only when the database fails.
   */
  async process(limit: number): Promise<number> {
    const events = await this.#parts.inbox.claim(limit);
    for (const event of events) {
      await this.#follow(event);
    }
    return events.length;
  }

  async #follow(event: WaitingEvent): Promise<void> {
    const { inbox } = this.#parts;
    try {
      const isKnown = await this.#apply(event);
      if (isKnown) {
        await inbox.finish(event.id, null);
      } else if (this.#isOld(event)) {
        await inbox.finish(event.id, 'unknown object (expired)');
      } else {
        await inbox.fail(event.id, UNKNOWN_OBJECT);
      }
    } catch (error) {
      if (error instanceof PaymentMismatch && this.#isOld(event)) {
        await inbox.finish(event.id, `not booked: ${error.message}`);
        return;
      }
      this.#log.warn({ error, event: event.id, type: event.type }, 'payment event failed, will retry');
      await inbox.fail(event.id, error instanceof Error ? error.message.slice(0, 500) : 'unknown');
    }
  }

  #isOld({ receivedAt }: WaitingEvent): boolean {
    return this.#clock.now() - receivedAt.getTime() > KEPT_MS;
  }

  /** Returns false when the event is about an object that we don't know (yet). */
  async #apply(event: WaitingEvent): Promise<boolean> {
    const { sessions, checkout, reversals } = this.#parts;
    if (event.subject === 'other' || event.objectId === null) {
      return true;
    }
    const row =
      event.subject === 'session'
        ? await sessions.findByProviderSession(this.#provider, event.objectId)
        : await sessions.findByPayment(this.#provider, event.objectId);
    if (!row) {
      return false;
    }
    if (event.subject === 'session') {
      await checkout.refresh(row);
    } else {
      await reversals.follow(row);
    }
    return true;
  }
}
