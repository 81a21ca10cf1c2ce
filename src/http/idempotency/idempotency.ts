import { createHash, type Hash } from 'node:crypto';
import { AccountConcurrency } from '../../lib/account-concurrency.ts';
import { AppError } from '../../lib/errors.ts';
import { publicId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import { pause } from '../../lib/pause.ts';
import type { StopSignal } from '../../lib/stop-signal.ts';
import type { AnswerCipher } from './answer-cipher.ts';
import type { IdempotencyClaim, IdempotencyRow, IdempotencyStore, KeptName } from './idempotency.store.ts';

const KEY = /^[\x21-\x7e]{1,255}$/;
const RENEW_EVERY_MS = 20_000;
const RETRY_AFTER_SECONDS = 2;
/** Interval between checks on a call that a retry waits for, in ms: at first, and later. */
const LOOK_EVERY_MS_MIN = 50;
const LOOK_EVERY_MS_MAX = 1_000;
/** Maximum number of calls per account and process that continue after their clients left. */
const GOING_ON_PER_ACCOUNT = 200;

/** A JSON answer as first given, without the request id. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** A request without an Idempotency-Key that may be retried. */
export type RepeatableCall = Omit<IdempotencyClaim, 'key'>;

/** A claimed key. Exactly one of the three endings must be called. */
export interface KeyedCall {
  /** The id that the call's generation must have. */
  readonly generationId: string;
  answered(answer: RecordedAnswer): Promise<void>;
  /** Ends a call that was answered with a stream. Only this fact is stored. */
  streamed(): Promise<void>;
  /** Ends a failed call. Its key is free again unless money was charged. */
  failed(): Promise<void>;
}

/** A call that continues after its client left. */
export interface LeftCall extends KeyedCall {
  /** Returns whether a retry waits for the call or may still come. */
  isWanted(): Promise<boolean>;
}

export interface IdempotencyTimes {
  /** How long a repeated request waits for the running call, in ms. The official SDKs give up after ten minutes. */
  readonly waitMs: number;
  /**
   * How long a call continues after its client left while no retry waits for it, in ms. The official SDKs retry after 8 s at the latest.
   */
  readonly graceMs: number;
}

const TIMES: IdempotencyTimes = { waitMs: 9 * 60_000, graceMs: 10_000 };

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

/** Runs a call once, however often it is repeated: a repeated request gets the first answer, or an error that says why not. */
export class Idempotency {
  /** Calls that continue after their clients left. */
  readonly goingOn = new AccountConcurrency(GOING_ON_PER_ACCOUNT);
  readonly #store: IdempotencyStore;
  readonly #cipher: AnswerCipher;
  readonly #log: Logger;
  readonly #times: IdempotencyTimes;

  constructor(store: IdempotencyStore, cipher: AnswerCipher, log: Logger, times = TIMES) {
    this.#store = store;
    this.#cipher = cipher;
    this.#log = log;
    this.#times = times;
  }

  /** How long a call continues after its client left while no retry waits for it, in ms. */
  get graceMs(): number {
    return this.#times.graceMs;
  }

  /**
   * Claims the key for this call, or returns the recorded answer of the earlier call. A running call is waited for until `patience`
   * aborts; without `patience`, there is no wait. Throws AppError idempotency_in_progress, idempotency_completed (there is no answer to
   * replay), idempotency_key_reused.
   */
  async begin(claim: IdempotencyClaim, patience?: StopSignal): Promise<KeyedCall | RecordedAnswer> {
    const until = performance.now() + this.#times.waitMs;
    for (;;) {
      const row = await this.#store.claim(claim);
      if (row.state === 'fresh') {
        return this.#run({ ...claim, generationId: row.generationId });
      }
      if (row.fingerprint !== claim.fingerprint) {
        throw new AppError('idempotency_key_reused', 'this Idempotency-Key was used with another request');
      }
      if (row.state === 'done') {
        return this.#recorded(claim, row);
      }
      if (!patience) {
        throw inProgress();
      }
      await this.#whenEnded(claim, until, patience);
    }
  }

  /** Stores a call without a key whose client left. Returns undefined when that fails; then no retry can join the call. */
  async leave(call: RepeatableCall): Promise<LeftCall | undefined> {
    // no header can contain the space, so the name cannot collide with a key
    const claim = { ...call, key: `left ${call.generationId}` };
    try {
      await this.#store.leave(claim);
    } catch (error) {
      this.#log.error({ error, requestId: call.requestId }, 'failed to store a call whose client left');
      return undefined;
    }
    const isWanted = () => this.#store.isWanted(claim, this.#times.graceMs);
    return { ...this.#run(claim), isWanted };
  }

  /**
   * Returns the answer to the call that this request repeats without a key, if that call was left within the last minute; undefined when
   * there is none or it ended without an answer. Throws AppError idempotency_in_progress when `patience` aborts or after the maximum
   * wait.
   */
  async join(call: RepeatableCall, patience: StopSignal): Promise<RecordedAnswer | undefined> {
    const left = await this.#store.join(call.accountId, call.fingerprint);
    if (!left) {
      return undefined;
    }
    try {
      const row = await this.#whenEnded(left, performance.now() + this.#times.waitMs, patience);
      return row?.state === 'done' ? this.#opened(left, row) : undefined;
    } catch (error) {
      await this.#store.unjoin(left);
      throw error;
    }
  }

  /** Waits until a call no longer runs. Returns its row; undefined when nothing is stored about it. */
  async #whenEnded(name: KeptName, until: number, patience: StopSignal): Promise<IdempotencyRow | undefined> {
    for (let waitMs = LOOK_EVERY_MS_MIN; ; waitMs = Math.min(2 * waitMs, LOOK_EVERY_MS_MAX)) {
      const row = await this.#store.read(name);
      if (row?.state !== 'running') {
        return row;
      }
      await pause(waitMs, patience);
      if (patience.aborted || performance.now() >= until) {
        throw inProgress();
      }
    }
  }

  #recorded(name: KeptName, row: IdempotencyRow): RecordedAnswer {
    const recorded = this.#opened(name, row);
    if (!recorded) {
      const generation = publicId('generation', row.generationId);
      throw new AppError(
        'idempotency_completed',
        `the request with this Idempotency-Key has finished and its answer was not stored; see generation ${generation}`,
      );
    }
    return recorded;
  }

  #opened(name: KeptName, { answer }: IdempotencyRow): RecordedAnswer | undefined {
    const plain = answer && this.#cipher.open(answer, binding(name));
    return plain ? (JSON.parse(plain) as RecordedAnswer) : undefined;
  }

  #run(claim: IdempotencyClaim): KeyedCall {
    const guard = async (what: string, work: Promise<void>): Promise<void> => {
      try {
        await work;
      } catch (error) {
        // the lease expires by itself, and the answer that the client is about to get is still correct
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

function inProgress(): AppError {
  return new AppError(
    'idempotency_in_progress',
    'the first request with this Idempotency-Key is still running',
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}

function binding({ accountId, key }: KeptName): string {
  return `${accountId}/${key}`;
}

/** Starts a hash that distinguishes requests with the same key. The caller adds the bytes of the body or the fields of a form. */
export function fingerprint(apiKeyId: string, method: string, path: string): Hash {
  return createHash('sha256').update(`${apiKeyId} ${method} ${path}\n`);
}
