import { Arrivals } from './arrivals.ts';
import { AppError } from './errors.ts';
import { atOnce } from './steps.ts';
import type { StopSignal } from './stop-signal.ts';

/** Blocking work that one turn of the event loop may hold, in ms, the last step not counted. */
const WORK_MS_PER_TURN = 2;
/** Max queue wait in ms; longer waits are rejected, since the client has likely timed out. */
const WAIT_MS_MAX = 5_000;

/** What a caller is told for whom this process has no time. */
export function overloaded(): AppError {
  return new AppError('service_unavailable', 'This instance is overloaded, please retry.', {
    retryAfterSeconds: 1,
  });
}

/** Runs steps when somebody's turn comes. */
export type InTurn = <T>(steps: Iterator<unknown, T>) => Promise<T>;

/** For work that is short, or that nobody waits beside. */
export const AT_ONCE: InTurn = async (steps) => atOnce(steps);

interface Waiting {
  readonly since: number;
  begun: boolean;
  /** Blocks for one step; true when it has come to its end. */
  step(): boolean;
  refuse(error: unknown): void;
}

/**
 * Spreads work that blocks the event loop over its turns: a step of each account's first work, then the next account's; within an account
 * first come, first served. A turn stays short however much work there is, so that streams flow on and connections are accepted.
 */
export class EventLoopQueue {
  readonly #now: () => number;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #arrivals: Arrivals;
  #size = 0;
  #turn: NodeJS.Immediate | undefined;
  #workedMs = 0;

  /** `now` in ms of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#arrivals = new Arrivals(now);
  }

  /** Pieces of work that wait or are not done yet. */
  get size(): number {
    return this.#size;
  }

  /** To be called for every new connection. */
  connectionOpened(): void {
    this.#arrivals.connectionOpened();
  }

  /**
   * Resumes `steps`, of a few ms each, until it returns: at once where nobody waits, else when the account's turn comes. Rejects with
   * what it throws, with the signal's reason when that has aborted meanwhile, and with AppError service_unavailable after too long a
   * wait.
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
      // to the end of the round; the loop meets it again there
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
