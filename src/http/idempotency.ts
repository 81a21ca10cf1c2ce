import { createHash, type Hash } from 'node:crypto';
import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { AnswerCipher } from './answer-cipher.ts';
import type { IdempotencyClaim, IdempotencyRow, IdempotencyStore } from './idempotency.store.ts';

const KEY = /^[\x21-\x7e]{1,255}$/;
const RENEW_EVERY_MS = 20_000;
const RETRY_AFTER_SECONDS = 2;

/** A JSON answer as it was given the first time, without the request id. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** A claimed key: exactly one of the three endings has to be called. */
export interface IdempotencyRun {
  /** The id the call's generation must have. */
  readonly generationId: string;
  answered(answer: RecordedAnswer): Promise<void>;
  /** The answer was a stream: only that it happened is kept. */
  streamed(): Promise<void>;
  /** The call failed; its key is free again unless money was charged. */
  failed(): Promise<void>;
}

/** Validates an Idempotency-Key header. Throws AppError invalid_parameter. */
export function idempotencyKey(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) {
    return undefined;
  }
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw new AppError('invalid_parameter', 'Idempotency-Key: must be 1 to 255 visible ASCII characters');
  }
  return header;
}

/** Runs a call once per key: the second caller gets the first one's answer or is told why not. */
export class Idempotency {
  readonly #store: IdempotencyStore;
  readonly #cipher: AnswerCipher;
  readonly #log: Logger;

  constructor(store: IdempotencyStore, cipher: AnswerCipher, log: Logger) {
    this.#store = store;
    this.#cipher = cipher;
    this.#log = log;
  }

  /**
   * Claims the key for this call, or returns the recorded answer of the earlier one. Throws AppError
   * idempotency_in_progress, idempotency_completed (a stream: there is no answer to replay), idempotency_key_reused.
   */
  async begin(claim: IdempotencyClaim): Promise<IdempotencyRun | RecordedAnswer> {
    const row = await this.#store.claim(claim);
    if (row.state === 'fresh') {
      return this.#run({ ...claim, generationId: row.generationId });
    }
    if (row.fingerprint !== claim.fingerprint) {
      throw new AppError('idempotency_key_reused', 'this Idempotency-Key was used with another request');
    }
    if (row.state === 'running') {
      throw new AppError(
        'idempotency_in_progress',
        'the first request with this Idempotency-Key is still running',
        {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        },
      );
    }
    return this.#recorded(claim, row);
  }

  #recorded(claim: IdempotencyClaim, row: IdempotencyRow): RecordedAnswer {
    const plain = row.answer && this.#cipher.open(row.answer, binding(claim));
    if (!plain) {
      const generation = publicId('generation', row.generationId);
      throw new AppError(
        'idempotency_completed',
        `the request with this Idempotency-Key is finished and its answer is not kept; see generation ${generation}`,
      );
    }
    return JSON.parse(plain) as RecordedAnswer;
  }

  #run(claim: IdempotencyClaim): IdempotencyRun {
    const guard = async (what: string, work: Promise<void>): Promise<void> => {
      try {
        await work;
      } catch (error) {
        // the lease runs out by itself; the answer the client is about to get is right all the same
        this.#log.error({ error, requestId: claim.requestId }, `idempotency key: ${what} failed`);
      }
    };
    const renewal = setInterval(() => void guard('renew', this.#store.renew(claim)), RENEW_EVERY_MS).unref();
    const end = (what: string, work: () => Promise<void>): Promise<void> => {
      clearInterval(renewal);
      return guard(what, work());
    };
    return {
      generationId: claim.generationId,
      answered: (answer) => {
        const sealed = this.#cipher.seal(JSON.stringify(answer), binding(claim));
        return end('complete', () => this.#store.complete(claim, { statusCode: answer.status, sealed }));
      },
      streamed: () => end('complete', () => this.#store.complete(claim, { statusCode: 200, sealed: null })),
      failed: () => end('release', () => this.#store.release(claim)),
    };
  }
}

function binding(call: { readonly accountId: string; readonly key: string }): string {
  return `${call.accountId}/${call.key}`;
}

/** What tells a request from another one with the same key, but for its body, whose bytes are to be added. */
export function fingerprint(apiKeyId: string, method: string, path: string): Hash {
  return createHash('sha256').update(`${apiKeyId} ${method} ${path}\n`);
}
