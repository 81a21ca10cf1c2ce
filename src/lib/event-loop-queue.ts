import { AppError } from './errors.ts';
import { atOnce } from './steps.ts';
import type { StopSignal } from './stop-signal.ts';

/** Maximum blocking work per turn of the event loop, in ms, not counting the last step. */
const WORK_MS_PER_TURN = 2;
/** Maximum queue wait, in ms. Longer waits are rejected: the client has likely timed out. */
const WAIT_MS_MAX = 5_000;
/** Maximum ms that work yields while new connections come in. */
const STAND_BACK_MS_MAX = 5;

/** Returns the error for a caller that this process has no capacity for. */
export function overloaded(): AppError {
  return new AppError('service_unavailable', 'This instance is overloaded, please retry.', {
    retryAfterSeconds: 1,
  });
}

/** Runs steps when it is the account's turn. */
export type InTurn = <T>(steps: Iterator<unknown, T>) => Promise<T>;

/** Runs all steps at once: for short work, or where nothing else is waiting. */
export const AT_ONCE: InTurn = async (steps) => atOnce(steps);

interface Waiting {
  readonly since: number;
  begun: boolean;
  /** Blocks for one step and returns whether the work is done. */
  step(): boolean;
  refuse(error: unknown): void;
}

/**
 * Spreads work that blocks the event loop over its turns. Accounts take turns, one step each; within an account work runs first come,
 * first served. A turn stays short however much work there is, so streams keep flowing and connections are accepted.
 */
export class EventLoopQueue {
  readonly #now: () => number;
  /** Waiting work by account, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #arrivals: ConnectionArrivals;
  #size = 0;
  #turn: NodeJS.Immediate | undefined;
  #workedMs = 0;

  /** `now` returns ms of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#arrivals = new ConnectionArrivals(now);
  }

  /** Number of pieces of work that are waiting or unfinished. */
  get size(): number {
    return this.#size;
  }

  /** Must be called for every new connection. */
  connectionOpened(): void {
    this.#arrivals.connectionOpened();
  }

  /**
   * Runs `steps`, of a few ms each, to the end: at once if nothing is waiting, otherwise when it is the account's turn. Rejects with what
   * the steps throw, with the signal's reason if it has aborted, and with AppError service_unavailable after too long a wait.
   */
  run<T>(accountId: string, steps: Iterator<unknown, T>, signal?: StopSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const step = (): boolean => {
        try {
          signal?.throwIfAborted();
          const { done, value } = steps.next();
          if (done) {
            resolve(value);
          }
          return done === true;
        } catch (error) {
          reject(error);
          return true;
        }
      };
      const waiting = { since: this.#now(), begun: false, step, refuse: reject };
      const hasTime = this.#waiting.size === 0 && this.#workedMs < WORK_MS_PER_TURN;
      if (!hasTime || !this.#isDone(waiting)) {
        const line = this.#waiting.get(accountId);
        this.#size += 1;
        if (line) {
          line.push(waiting);
        } else {
          this.#waiting.set(accountId, [waiting]);
        }
      }
      this.#turn ??= setImmediate(() => this.#nextTurn());
    });
  }

  #nextTurn(): void {
    this.#turn = undefined;
    this.#workedMs = 0;
    if (!this.#arrivals.standBack()) {
      this.#work();
    }
    if (this.#waiting.size > 0 || this.#workedMs > 0) {
      this.#turn ??= setImmediate(() => this.#nextTurn());
    }
  }

  #work(): void {
    for (const [accountId, line] of this.#waiting) {
      if (this.#workedMs >= WORK_MS_PER_TURN) {
        return;
      }
      const [first] = line;
      if (first && !first.begun && this.#now() - first.since > WAIT_MS_MAX) {
        first.refuse(overloaded());
        this.#leave(line);
      } else if (first && this.#isDone(first)) {
        this.#leave(line);
      }
      // moves the account to the end of the round, where this loop reaches it again
      this.#waiting.delete(accountId);
      if (line.length > 0) {
        this.#waiting.set(accountId, line);
      }
    }
  }

  #leave(line: Waiting[]): void {
    line.shift();
    this.#size -= 1;
  }

  #isDone(waiting: Waiting): boolean {
    const startedAt = this.#now();
    waiting.begun = true;
    const isDone = waiting.step();
    this.#workedMs += this.#now() - startedAt;
    return isDone;
  }
}

/**
 * Decides when work should yield to connections waiting to be accepted. Node accepts one per turn of the event loop (libuv 1.46); the
 * others wait in the kernel, where the service cannot reject them.
 */
export class ConnectionArrivals {
  readonly #now: () => number;
  #opened = 0;
  #seen = 0;
  #stoodBackAt: number | undefined;

  /** `now` returns ms of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Must be called for every new connection. */
  connectionOpened(): void {
    this.#opened += 1;
  }

  /**
   * Returns whether to skip this turn's work. Must be called once per turn of the event loop. If a connection was accepted since the last
   * call, more may be waiting, and a few turns without work let them in.
   */
  standBack(): boolean {
    const cameIn = this.#opened !== this.#seen;
    this.#seen = this.#opened;
    if (!cameIn) {
      this.#stoodBackAt = undefined;
      return false;
    }
    this.#stoodBackAt ??= this.#now();
    if (this.#now() - this.#stoodBackAt < STAND_BACK_MS_MAX) {
      return true;
    }
    this.#stoodBackAt = undefined;
    return false;
  }
}
