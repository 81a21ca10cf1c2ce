import { getHeapStatistics } from 'node:v8';
import { AppError } from '../../lib/errors.ts';

export interface BodyBytesLimits {
  readonly account: number;
  readonly process: number;
}

/** Of a process, without any body (measured: 90 to 100 MB). */
const HEAP_AT_REST_BYTES = 100 * 2 ** 20;
/** What a body takes while it is parsed and sent on, in its own bytes (measured: images of 30 MB, texts and tools of 10 and 30 MB). */
const HEAP_PER_BYTE = 6;
/** The largest body there is: a process that could not take it alone would refuse it for ever. */
const BODY_BYTES_MAX = 32 * 2 ** 20;
const PROCESS_BYTES_MAX = 96 * 2 ** 20;
/** So that one account leaves room for another. */
const ACCOUNT_SHARE = 2 / 3;

/** What a process holds at most whose heap may have `heapBytesMax`. */
export function bodyBytesLimits(heapBytesMax: number): BodyBytesLimits {
  const fitting = Math.floor((heapBytesMax - HEAP_AT_REST_BYTES) / HEAP_PER_BYTE);
  const process = Math.max(BODY_BYTES_MAX, Math.min(PROCESS_BYTES_MAX, fitting));
  return { process, account: Math.max(BODY_BYTES_MAX, Math.floor(process * ACCOUNT_SHARE)) };
}

/** Bytes taken for one request. */
export interface BodyShare {
  /**
   * Throws AppError concurrency_limit_exceeded when the account's requests hold too many bytes, service_unavailable when all do; then
   * all of them are given back.
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

  /** By default for the heap that this process may have. */
  constructor(limits = bodyBytesLimits(getHeapStatistics().heap_size_limit)) {
    this.#limits = limits;
  }

  share(accountId: string): BodyShare {
    let taken = 0;
    const release = (): void => {
      this.#giveBack(accountId, taken);
      taken = 0;
    };
    return {
      take: (bytes) => {
        try {
          this.#take(accountId, bytes);
        } catch (error) {
          // its request is refused: the next one, perhaps in the same tick, need not be
          release();
          throw error;
        }
        taken += bytes;
      },
      release,
    };
  }

  #take(accountId: string, bytes: number): void {
    const held = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (held > this.#limits.account) {
      throw new AppError(
        'concurrency_limit_exceeded',
        `this account has more than ${this.#limits.account} bytes of request bodies in flight`,
        { retryAfterSeconds: 1 },
      );
    }
    if (this.#total + bytes > this.#limits.process) {
      throw new AppError(
        'service_unavailable',
        'too many large request bodies are in flight on this instance, please retry',
        {
          retryAfterSeconds: 1,
        },
      );
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
