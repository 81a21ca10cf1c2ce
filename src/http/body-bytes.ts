import { AppError } from '../lib/errors.ts';

export interface BodyBytesLimits {
  readonly account: number;
  readonly process: number;
}

/**
 * A body takes up to six times its bytes while it is parsed and sent on (measured: images of 30 MB), and a process is shipped with a
 * limit of 1 GiB, of which it needs 200 MB without any.
 */
const LIMITS: BodyBytesLimits = { account: 64 * 2 ** 20, process: 96 * 2 ** 20 };

/** Bytes taken for one request. */
export interface BodyShare {
  /**
   * Throws AppError concurrency_limit_exceeded when the account's requests hold too many bytes, service_unavailable when all do.
   */
  take(bytes: number): void;
  /** Gives all of them back. */
  release(): void;
}

/** Bounds the bytes of bodies that this process holds at once, for each account and in all. */
export class BodyBytes {
  readonly #limits: BodyBytesLimits;
  readonly #byAccount = new Map<string, number>();
  #total = 0;

  constructor(limits: BodyBytesLimits = LIMITS) {
    this.#limits = limits;
  }

  share(accountId: string): BodyShare {
    let taken = 0;
    return {
      take: (bytes) => {
        this.#take(accountId, bytes);
        taken += bytes;
      },
      release: () => {
        this.#giveBack(accountId, taken);
        taken = 0;
      },
    };
  }

  #take(accountId: string, bytes: number): void {
    const held = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (held > this.#limits.account) {
      throw new AppError(
        'concurrency_limit_exceeded',
        `bodies of more than ${this.#limits.account} bytes of this account are in flight`,
        { retryAfterSeconds: 1 },
      );
    }
    if (this.#total + bytes > this.#limits.process) {
      throw new AppError('service_unavailable', 'this instance holds too many large bodies, please retry', {
        retryAfterSeconds: 1,
      });
    }
    this.#byAccount.set(accountId, held);
    this.#total += bytes;
  }

  #giveBack(accountId: string, bytes: number): void {
    const left = (this.#byAccount.get(accountId) ?? 0) - bytes;
    if (left > 0) {
      this.#byAccount.set(accountId, left);
    } else {
      this.#byAccount.delete(accountId);
    }
    this.#total -= bytes;
  }
}
