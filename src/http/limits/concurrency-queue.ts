import { LruMap } from '../../lib/lru-map.ts';
import type { RateDecision } from './rate-policy.ts';

/** A call that needs one of the concurrent places of its key and its account. */
export interface ConcurrencyWaiter {
  readonly keyId: string;
  readonly accountId: string;
  /** Tries to take the place. */
  take(): Promise<RateDecision>;
  /** Returns whether the client has left. */
  isGone(): boolean;
}

interface Waiting {
  /** Makes the call look for a place now. */
  wake(): void;
}

interface Line {
  readonly accountId: string;
  readonly waiting: Waiting[];
}

/** Statistics on how long the calls of an account take. */
interface Pace {
  running: number;
  /** Sum of the start times of the running calls, in ms of the monotonic clock. */
  startedSumMs: number;
  /** Moving average of the calls that ended, in ms; undefined when none has ended. */
  typicalMs: number | undefined;
}

const WAIT_MS = 10_000;
/** How often the first in line looks for a place that another process freed, in ms. */
const LOOK_EVERY_MS = 250;
const WAITING_PER_KEY_MAX = 500;
const WAITING_MAX = 2_000;
const PACES_MAX = 10_000;
/** Weight of a new call in the average of its account. */
const WEIGHT = 0.2;
/** The official SDKs ignore longer waits. */
const RETRY_SECONDS_MAX = 60;

/** Lines up calls beyond their concurrency limit, in order of arrival, until a place is free or their time is up. */
export class ConcurrencyQueue {
  readonly #waitMs: number;
  readonly #lines = new Map<string, Line>();
  readonly #paces = new LruMap<string, Pace>(PACES_MAX);
  #size = 0;

  constructor(waitMs = WAIT_MS) {
    this.#waitMs = waitMs;
  }

  /** Returns whether calls of the key are waiting: a new call has to line up behind them. */
  hasWaiting(keyId: string): boolean {
    return this.#lines.has(keyId);
  }

  /**
   * Waits for a place in turn. Returns the decision that ended the wait; undefined when the line is full or no place was freed in time.
   */
  async wait(seeker: ConcurrencyWaiter): Promise<RateDecision | undefined> {
    const line = this.#lineOf(seeker);
    if (line.waiting.length >= WAITING_PER_KEY_MAX || this.#size >= WAITING_MAX) {
      return undefined;
    }
    const until = performance.now() + this.#waitMs;
    const me: Waiting = { wake: () => undefined };
    line.waiting.push(me);
    this.#lines.set(seeker.keyId, line);
    this.#size += 1;
    try {
      while (!seeker.isGone() && performance.now() < until) {
        const isFirst = line.waiting[0] === me;
        await woken(
          me,
          Math.min(isFirst ? LOOK_EVERY_MS : Number.POSITIVE_INFINITY, until - performance.now()),
        );
        if (line.waiting[0] === me) {
          const decision = await seeker.take();
          if (decision.refused !== 'concurrency') {
            return decision;
          }
        }
      }
      return undefined;
    } finally {
      this.#leave(seeker.keyId, line, me);
    }
  }

  /** Records that a call got its place. The returned function records that the call has ended and its place is free. */
  began(accountId: string): () => void {
    const startedMs = performance.now();
    const pace = this.#paces.get(accountId) ?? { running: 0, startedSumMs: 0, typicalMs: undefined };
    pace.running += 1;
    pace.startedSumMs += startedMs;
    this.#paces.set(accountId, pace);
    return () => {
      const tookMs = performance.now() - startedMs;
      pace.running -= 1;
      pace.startedSumMs -= startedMs;
      pace.typicalMs =
        pace.typicalMs === undefined ? tookMs : pace.typicalMs + WEIGHT * (tookMs - pace.typicalMs);
      for (const line of this.#lines.values()) {
        if (line.accountId === accountId) {
          line.waiting[0]?.wake();
        }
      }
    };
  }

  /**
   * Returns when to retry, in seconds: after about as long as a call of the account takes, spread so that rejected calls do not return
   * together.
   */
  retryAfterSeconds(accountId: string): number {
    const pace = this.#paces.get(accountId);
    const typicalMs = Math.max(pace?.typicalMs ?? 0, ageMs(pace));
    const spreadMs = typicalMs * (0.5 + Math.random());
    return Math.min(Math.max(1, Math.ceil(spreadMs / 1_000)), RETRY_SECONDS_MAX);
  }

  #lineOf({ keyId, accountId }: ConcurrencyWaiter): Line {
    return this.#lines.get(keyId) ?? { accountId, waiting: [] };
  }

  #leave(keyId: string, line: Line, me: Waiting): void {
    line.waiting.splice(line.waiting.indexOf(me), 1);
    this.#size -= 1;
    if (line.waiting.length === 0) {
      this.#lines.delete(keyId);
    }
    line.waiting[0]?.wake();
  }
}

/** Returns how long the running calls have been running, on average, in ms. */
function ageMs(pace: Pace | undefined): number {
  return pace && pace.running > 0 ? performance.now() - pace.startedSumMs / pace.running : 0;
}

function woken(me: Waiting, milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    me.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}
