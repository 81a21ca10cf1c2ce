import { createHash, type Hash } from 'node:crypto';
import { AccountPlaces } from '../../lib/account-places.ts';
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
/** How often a call that somebody waits for is looked at, in ms: at first, and later. */
const LOOK_EVERY_MS_MIN = 50;
const LOOK_EVERY_MS_MAX = 1_000;
/** How many calls of one account go on at once in each process though their clients left. */
const GOING_ON_PER_ACCOUNT = 200;

/** A JSON answer as it was given the first time, without the request id. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** A request without a key that may come again. */
export type RepeatableCall = Omit<IdempotencyClaim, 'key'>;

/** A claimed key: exactly one of the three endings has to be called. */
export interface KeyedCall {
  /** The id the call's generation must have. */
  readonly generationId: string;
  answered(answer: RecordedAnswer): Promise<void>;
  /** The answer was a stream: only that it happened is kept. */
  streamed(): Promise<void>;
  /** The call failed; its key is free again unless money was charged. */
  failed(): Promise<void>;
}

/** A call that goes on though its client left. */
export interface LeftCall extends KeyedCall {
  /** Whether a retry waits for it, or one may still come. */
  isWanted(): Promise<boolean>;
}

export interface IdempotencyTimes {
  /** How long a repetition waits for the call that runs, in ms: the official SDKs give up after ten minutes. */
  readonly waitMs: number;
  /** How long a call that was left goes on while no retry waits for it, in ms: the official SDKs retry after 8 s at the latest. */
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

/** Runs a call once, whatever comes again: the second caller gets the first one's answer or is told why not. */
export class Idempotency {
  /** Calls that go on though their clients left. */
  readonly goingOn = new AccountPlaces(GOING_ON_PER_ACCOUNT);
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

  /** How long a call that was left goes on while no retry waits for it, in ms. */
  get graceMs(): number {
    return this.#times.graceMs;
  }

  /**
   * Claims the key for this call, or returns the recorded answer of the earlier one, which is waited for until `patience` aborts; without
   * it nothing is waited for. Throws AppError idempotency_in_progress, idempotency_completed (there is no answer to replay),
   * idempotency_key_reused.
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

  /** Keeps a call without a key whose client has left. Undefined when that cannot be noted: then nobody can join it. */
  async leave(call: RepeatableCall): Promise<LeftCall | undefined> {
    // the space keeps it apart from what a header can say
    const claim = { ...call, key: `left ${call.generationId}` };
    try {
      await this.#store.leave(claim);
    } catch (error) {
      this.#log.error({ error, requestId: call.requestId }, 'a call whose client left could not be kept');
      return undefined;
    }
    const isWanted = () => this.#store.isWanted(claim, this.#times.graceMs);
    return { ...this.#run(claim), isWanted };
  }

  /**
   * The answer to the call that this one repeats by itself, if that was left within the last minute; undefined when there is none, or
   * it ended without an answer. Throws AppError idempotency_in_progress when `patience` aborts or after the longest wait.
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

  /** What became of a running call; undefined when nothing is kept of it. */
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

/** What tells a request from another one with the same key, but for its body, whose bytes are to be added. */
export function fingerprint(apiKeyId: string, method: string, path: string): Hash {
  return createHash('sha256').update(`${apiKeyId} ${method} ${path}\n`);
}
