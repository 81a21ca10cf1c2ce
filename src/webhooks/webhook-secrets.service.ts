import { systemClock } from '../lib/clock.ts';
import { InvariantError } from '../lib/errors.ts';
import type { WebhookSecretsStore } from './webhook-secrets.store.ts';
import { newWebhookSecret } from './webhook-signature.ts';

/** Encrypts secrets for storage, bound to their owner. */
export interface SecretCipher {
  seal(plain: string, binding: string): Buffer;
  /** Undefined when the bytes were sealed with another installation's secret or for another owner. */
  open(sealed: Buffer, binding: string): string | undefined;
}

export interface WebhookSecrets {
  /** `whsec_…` */
  readonly secret: string;
  /** The previous secret, while it still signs alongside the new one. */
  readonly previousSecret: string | null;
  readonly previousExpiresAt: Date | null;
}

/** Ms for which the previous secret still signs after a rotation. */
const ROTATION_OVERLAP_MS = 24 * 3_600_000;
const RESEAL_PAGE = 500;
const FIRST_UUID = '00000000-0000-0000-0000-000000000000';

/** Signing secrets of accounts, created when first needed. */
export class WebhookSecretsService {
  readonly #store: WebhookSecretsStore;
  readonly #cipher: SecretCipher;

  constructor(store: WebhookSecretsStore, cipher: SecretCipher) {
    this.#store = store;
    this.#cipher = cipher;
  }

  /** Returns the account's secrets, and creates them if it has none. */
  async get(accountId: string): Promise<WebhookSecrets> {
    let sealed = await this.#store.find(accountId);
    if (!sealed) {
      await this.#store.insert(accountId, this.#cipher.seal(newWebhookSecret(), accountId));
      sealed = await this.#store.find(accountId);
    }
    if (!sealed) {
      throw new InvariantError(`webhook secret of account ${accountId} is missing right after it was stored`);
    }
    const previousExpiresAt = new Date(sealed.rotatedAt.getTime() + ROTATION_OVERLAP_MS);
    const overlaps = previousExpiresAt.getTime() > systemClock.now();
    // one that cannot be read signs nothing: after the loss of TOLLGATE_SECRET a rotation is the way back
    const previousSecret = overlaps ? this.#openPrevious(sealed.previousSecret, accountId) : null;
    return {
      secret: this.#open(sealed.secret, accountId),
      previousSecret,
      previousExpiresAt: previousSecret === null ? null : previousExpiresAt,
    };
  }

  /** Creates a new secret. The old one also signs for another day. */
  async rotate(accountId: string): Promise<WebhookSecrets> {
    await this.#store.rotate(accountId, this.#cipher.seal(newWebhookSecret(), accountId));
    return await this.get(accountId);
  }

  /**
   * Reseals every account's secrets, so that a previous TOLLGATE_SECRET is no longer needed. Returns how many accounts have theirs sealed
   * anew, and how many have one that was sealed with none of the known secrets: it stays as it is, until its account rotates it.
   */
  async resealAll(): Promise<{ readonly resealed: number; readonly unreadable: number }> {
    let resealed = 0;
    let unreadable = 0;
    for (let after = FIRST_UUID; ; ) {
      const page = await this.#store.listAfter(after, RESEAL_PAGE);
      for (const { accountId, ...sealed } of page) {
        const current = this.#cipher.open(sealed.secret, accountId);
        if (current === undefined) {
          unreadable += 1;
          continue;
        }
        const previous = this.#openPrevious(sealed.previousSecret, accountId);
        await this.#store.reseal(accountId, sealed, {
          secret: this.#cipher.seal(current, accountId),
          previousSecret: previous === null ? sealed.previousSecret : this.#cipher.seal(previous, accountId),
        });
        resealed += 1;
      }
      const last = page.at(-1);
      if (last === undefined) {
        return { resealed, unreadable };
      }
      after = last.accountId;
    }
  }

  /** Returns how many of the first accounts, at most 500, have a secret that was sealed with none of the known secrets. */
  async countUnreadable(): Promise<number> {
    const page = await this.#store.listAfter(FIRST_UUID, RESEAL_PAGE);
    return page.filter(({ accountId, secret }) => this.#cipher.open(secret, accountId) === undefined).length;
  }

  #openPrevious(sealed: Buffer | null, accountId: string): string | null {
    return (sealed && this.#cipher.open(sealed, accountId)) ?? null;
  }

  #open(sealed: Buffer, accountId: string): string {
    const secret = this.#cipher.open(sealed, accountId);
    if (secret === undefined) {
      throw new InvariantError(
        `webhook secret of account ${accountId} was sealed with another TOLLGATE_SECRET`,
      );
    }
    return secret;
  }
}
