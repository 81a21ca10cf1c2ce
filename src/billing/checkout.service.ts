import type { Movements } from '../ledger/movements.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId, publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { nanoUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import type { CreateCheckoutBody } from './checkout.schema.ts';
import type { CheckoutStore } from './checkout.store.ts';
import { checkoutOutcome, PaymentMismatch } from './checkout-outcome.ts';
import type { HostedSession, PaymentProvider } from './payment/payment.types.ts';

export interface CheckoutSettings {
  /** Base of our own pages, without a trailing slash. */
  readonly publicUrl: string;
  /** Undefined when credits cannot be bought from this installation. */
  readonly provider: PaymentProvider | undefined;
}

export interface CheckoutParts {
  readonly store: CheckoutStore;
  readonly movements: Movements;
  readonly settings: CheckoutSettings;
  readonly clock: Clock;
  readonly log: Logger;
}

const LIFETIME_MS = 23 * 3_600_000;
/** How long after its expiry a session that the provider does not know is asked about: the key may be the wrong one for a while. */
const UNKNOWN_KEPT_MS = 3 * 24 * 3_600_000;
const PURCHASE = 'Purchase of credits';

/** Sells credits: opens a session, which is paid on the provider's page and credited once. */
export class CheckoutService {
  readonly #store: CheckoutStore;
  readonly #movements: Movements;
  readonly #settings: CheckoutSettings;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(parts: CheckoutParts) {
    this.#store = parts.store;
    this.#movements = parts.movements;
    this.#settings = parts.settings;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /**
   * Returns the URL of the provider's own invoice or receipt of a paid session, or null when there is none. Throws AppError provider_error.
   */
  async receiptUrl({ provider, provider_session_id }: CheckoutSessionRow): Promise<string | null> {
    const own = this.#settings.provider;
    return own?.name === provider && provider_session_id !== null
      ? await own.receiptUrlOf(provider_session_id)
      : null;
  }

  /**
   * Opens the session with that id (UUID), or continues one begun by a request that died: it is stored once, and created at the provider
   * once. Throws AppError service_unavailable (no provider is configured), provider_error.
   */
  async create(accountId: string, id: string, body: CreateCheckoutBody): Promise<CheckoutSessionRow> {
    const { provider, publicUrl } = this.#settings;
    if (!provider) {
      throw new AppError(
        'service_unavailable',
        'Credits cannot be bought: no payment provider is configured.',
      );
    }
    const sessionId = publicId('checkoutSession', id);
    const resultUrl = `${publicUrl}/checkout/${sessionId}/result`;
    const row = await this.#store.insert({
      id,
      accountId,
      amount: body.amount,
      currency: body.currency,
      provider: provider.name,
      successUrl: withSessionId(body.success_url ?? resultUrl, sessionId),
      cancelUrl: withSessionId(body.cancel_url ?? `${resultUrl}?canceled=1`, sessionId),
      expiresAt: new Date(this.#clock.now() + LIFETIME_MS),
    });
    if (row.provider_session_id !== null) {
      return row;
    }
    // from the stored row, not from this request: the provider recognizes a repeated request only by identical content
    const hosted = await provider.createSession({
      sessionId,
      amount: nanoUsd(row.amount),
      successUrl: row.success_url,
      cancelUrl: row.cancel_url,
      expiresAt: row.expires_at,
    });
    await this.#store.attach(row, hosted.providerSessionId, hosted.url);
    return { ...row, provider_session_id: hosted.providerSessionId, url: hosted.url };
  }

  /** Returns a session of the account. Throws AppError checkout_session_not_found. */
  async get(accountId: string, id: string): Promise<CheckoutSessionRow> {
    return this.#find(id, accountId);
  }

  /** Returns a session by its id alone, for its payment page. Throws AppError checkout_session_not_found. */
  async open(id: string): Promise<CheckoutSessionRow> {
    return this.#find(id, null);
  }

  /**
   * Fetches the state of a session from the provider and applies it. Throws AppError provider_error, also when the provider does not know
   * the session, and PaymentMismatch.
   */
  async refresh(row: CheckoutSessionRow): Promise<void> {
    const { provider } = this.#settings;
    if (!provider || provider.name !== row.provider || row.provider_session_id === null) {
      return;
    }
    const theirs = await provider.fetchSession(row.provider_session_id);
    if (!theirs) {
      throw new AppError(
        'provider_error',
        'The payment provider does not know this session: it was opened with the key of another account or mode.',
      );
    }
    const reason = await this.#apply(row, theirs);
    if (reason !== undefined) {
      throw new PaymentMismatch(reason);
    }
  }

  /** Returns why a paid session is not credited, if it is not. */
  async #apply(row: CheckoutSessionRow, theirs: HostedSession): Promise<string | undefined> {
    const outcome = checkoutOutcome(row, theirs);
    if (outcome.kind === 'credit') {
      await this.#movements.creditCheckout(row.account_id, row.id, outcome.paymentId, PURCHASE);
    } else if (outcome.kind === 'move') {
      await this.#store.move(row, outcome.status, outcome.paymentStatus);
    } else if (outcome.kind === 'mismatch') {
      this.#log.error(
        { session: publicId('checkoutSession', row.id), reason: outcome.reason },
        'payment not credited: it does not match the session',
      );
      return outcome.reason;
    }
    return undefined;
  }

  /**
   * Makes up for events that never came: expires old sessions and refreshes up to `limit` waiting ones. Closes those of erased accounts at
   * the provider. Returns how many it looked at.
   */
  async sweep(limit: number): Promise<number> {
    let seen = await this.#store.expire();
    const { provider } = this.#settings;
    if (!provider) {
      return seen;
    }
    for (const { id, isErased } of await this.#store.stale(provider.name, limit)) {
      const row = await this.#store.find(id, null);
      if (row) {
        await this.#catchUp(row, provider, isErased);
        seen += 1;
      }
    }
    return seen;
  }

  /** A session that the provider does not know must not hold up the others; in the end it expires here, as nobody else will say so. */
  async #catchUp(row: CheckoutSessionRow, provider: PaymentProvider, isErased: boolean): Promise<void> {
    const id = row.provider_session_id ?? '';
    const theirs = await provider.fetchSession(id);
    if (theirs) {
      const closed = isErased && theirs.status === 'open' ? await provider.expireSession(id) : undefined;
      await this.#apply(row, closed ?? theirs);
    } else if (this.#clock.now() > row.expires_at.getTime() + UNKNOWN_KEPT_MS) {
      await this.#store.move(row, 'expired', row.payment_status);
      this.#log.warn(
        { session: publicId('checkoutSession', row.id) },
        'a checkout session expired that the payment provider does not know: was it opened with another key?',
      );
    }
  }

  async #find(id: string, accountId: string | null): Promise<CheckoutSessionRow> {
    const uuid = parsePublicId('checkoutSession', id);
    const row = uuid && (await this.#store.find(uuid, accountId));
    if (!row) {
      throw new AppError('checkout_session_not_found', 'There is no such checkout session.');
    }
    const isOver = row.status === 'open' && row.expires_at.getTime() <= this.#clock.now();
    return isOver ? { ...row, status: 'expired' } : row;
  }
}

/** Replaces Stripe's placeholder, which works with every provider. */
function withSessionId(url: string, sessionId: string): string {
  return url.replaceAll('{CHECKOUT_SESSION_ID}', sessionId);
}
