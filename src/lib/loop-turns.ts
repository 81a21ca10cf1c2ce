import { overloaded } from './overload.ts';
import type { StopSignal } from './stop-signal.ts';

/** Blocking work that one turn of the event loop may hold, in ms, the last step not counted. */
const WORK_MS_PER_TURN = 5;
/** Ms that work stands back while new connections come in. */
const ARRIVAL_MS_MAX = 5;
/** Max queue wait in ms; longer waits are rejected, since the client has likely timed out. */
const WAIT_MS_MAX = 3_000;

/** Share of the newest work in the average of how long one takes. */
const LEARNING_SHARE = 0.05;

interface Waiting {
  readonly since: number;
  /** Only the first can have begun. */
  begun: boolean;
  /** Blocks for one step; true when it has come to its end. */
  step(): boolean;
  refuse(error: unknown): void;
}

/**
 * Spreads work that blocks the event loop over its turns, first come, first served. A turn stays short however much work there
 * is, so that streams flow on and connections are accepted: Node accepts one per turn (libuv 1.46), and those that are not
 * accepted wait in the kernel, where nobody can refuse them.
 */
export class LoopTurns {
  readonly #now: () => number;
  readonly #waiting: Waiting[] = [];
  #turn: NodeJS.Immediate | undefined;
  #workedMs = 0;
  /** Average time from one end of work to the next while somebody waits: with all that the turns hold besides. */
  #msEach = 0;
  #endedAt: number | undefined;
  #arrivals = 0;
  #arrivalsSeen = 0;
  #stoodBackAt: number | undefined;

  /** `now` in ms of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Estimated queue wait for a new item in ms, judged by how long the last ones took. */
  get expectedWaitMs(): number {
    return this.#waiting.length * this.#msEach;
  }

  /** To be called for every new connection. */
  connectionOpened(): void {
    this.#arrivals += 1;
  }

  /**
   * Resumes `steps`, of a few ms each, until it returns: at once where nobody waits, else when its turn comes. Rejects with what it
   * throws, with the signal's reason when that has aborted meanwhile, and with AppError service_unavailable after too long a wait.
   */
  run<T>(steps: Iterator<unknown, T>, signal?: StopSignal): Promise<T> {
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
      const hasTime = this.#waiting.length === 0 && this.#workedMs < WORK_MS_PER_TURN;
      if (!hasTime || !this.#isDone(waiting)) {
        this.#waiting.push(waiting);
      }
      this.#turn ??= setImmediate(() => this.#nextTurn());
    });
  }

  #nextTurn(): void {
    this.#turn = undefined;
    this.#workedMs = 0;
    if (!this.#standsBack()) {
      this.#work();
    }
    if (this.#waiting.length > 0 || this.#workedMs > 0) {
      this.#turn ??= setImmediate(() => this.#nextTurn());
    }
  }

  /** A turn in which a connection was accepted may have left others waiting: a few turns without work let them in. */
  #standsBack(): boolean {
    const cameIn = this.#arrivals !== this.#arrivalsSeen;
    this.#arrivalsSeen = this.#arrivals;
    if (!cameIn) {
      this.#stoodBackAt = undefined;
      return false;
    }
    this.#stoodBackAt ??= this.#now();
    if (this.#now() - this.#stoodBackAt < ARRIVAL_MS_MAX) {
      return true;
    }
    this.#stoodBackAt = undefined;
    return false;
  }

  #work(): void {
    for (let first = this.#waiting[0]; first && this.#workedMs < WORK_MS_PER_TURN; first = this.#waiting[0]) {
      if (!first.begun && this.#now() - first.since > WAIT_MS_MAX) {
        first.refuse(overloaded());
        this.#waiting.shift();
      } else if (this.#isDone(first)) {
        this.#waiting.shift();
        this.#learn();
      }
    }
    if (this.#waiting.length === 0) {
      this.#endedAt = undefined;
    }
  }

  #learn(): void {
    const now = this.#now();
    if (this.#endedAt !== undefined) {
      this.#msEach += (now - this.#endedAt - this.#msEach) * LEARNING_SHARE;
    }
    this.#endedAt = now;
  }

  #isDone(waiting: Waiting): boolean {
    const startedAt = this.#now();
    waiting.begun = true;
    const isDone = waiting.step();
    this.#workedMs += this.#now() - startedAt;
    return isDone;
  }
}
