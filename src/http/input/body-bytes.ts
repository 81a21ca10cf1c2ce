import { getHeapStatistics } from 'node:v8';
import { AppError } from '../../lib/errors.ts';

export interface BodyBytesLimits {
  readonly account: number;
  readonly process: number;
}

/** Heap of a process without any bodies (measured: 90 to 100 MB). */
const HEAP_AT_REST_BYTES = 100 * 2 ** 20;
/**
 * Heap that a body takes while it is parsed and sent on, per byte of the body (measured: images of 30 MB, texts and tools of 10 and 30
 * MB).
 */
const HEAP_PER_BYTE = 6;
/** The largest body allowed; base64 images make chat bodies large. A process that could not hold it alone would reject it forever. */
export const BODY_BYTES_MAX = 32 * 2 ** 20;
const PROCESS_BYTES_MAX = 96 * 2 ** 20;
/** Largest share of one account, so that it leaves room for another. */
const ACCOUNT_SHARE = 2 / 3;

/** Returns the limits of a process whose heap may have `heapBytesMax` bytes. */
export function bodyBytesLimits(heapBytesMax: number): BodyBytesLimits {
  const fitting = Math.floor((heapBytesMax - HEAP_AT_REST_BYTES) / HEAP_PER_BYTE);
  const process = Math.max(BODY_BYTES_MAX, Math.min(PROCESS_BYTES_MAX, fitting));
  return { process, account: Math.max(BODY_BYTES_MAX, Math.floor(process * ACCOUNT_SHARE)) };
}

/** Bytes taken for one request. */
export interface BodyShare {
  /**
   * Takes bytes. Throws AppError concurrency_limit_exceeded when the account's requests hold too many, service_unavailable when all
   * requests together do; then all bytes of this request are released.
   */
  take(bytes: number): void;
  /** Releases all bytes of this request. */
  release(): void;
}

/** Limits the bytes of bodies that this process holds at once, per account and in total. */
export class BodyBytes {
  readonly #limits: BodyBytesLimits;
  readonly #byAccount = new Map<string, number>();
  #total = 0;

  /** `limits` defaults to those for the heap size of this process. */
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
          // this request is rejected, so that the next one, perhaps in the same tick, may still fit
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
