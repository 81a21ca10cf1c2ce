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
    const overlaps = sealed.previousSecret !== null && previousExpiresAt.getTime() > systemClock.now();
    return {
      secret: this.#open(sealed.secret, accountId),
      previousSecret: overlaps && sealed.previousSecret ? this.#open(sealed.previousSecret, accountId) : null,
      previousExpiresAt: overlaps ? previousExpiresAt : null,
    };
  }

  /** Creates a new secret. The old one also signs for another day. */
  async rotate(accountId: string): Promise<WebhookSecrets> {
    await this.#store.rotate(accountId, this.#cipher.seal(newWebhookSecret(), accountId));
    return await this.get(accountId);
  }

  /** Reseals every account's secrets, so that a previous TOLLGATE_SECRET is no longer needed. Returns the number of accounts. */
  async resealAll(): Promise<number> {
    let resealed = 0;
    for (let after = FIRST_UUID; ; ) {
      const page = await this.#store.listAfter(after, RESEAL_PAGE);
      for (const { accountId, ...sealed } of page) {
        const anew = (old: Buffer) => this.#cipher.seal(this.#open(old, accountId), accountId);
        const { secret, previousSecret } = sealed;
        const to = { secret: anew(secret), previousSecret: previousSecret && anew(previousSecret) };
        await this.#store.reseal(accountId, sealed, to);
      }
      resealed += page.length;
      const last = page.at(-1);
      if (last === undefined) {
        return resealed;
      }
      after = last.accountId;
    }
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
