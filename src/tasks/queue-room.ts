import { LruMap } from '../lib/lru-map.ts';

/** Knows what waits. */
export interface TaskQueue {
  /** Tasks of the account that wait for the pool; no more than `most` are counted. */
  countQueued(pool: string, accountId: string, most: number): Promise<number>;
}

/** Orders that need no count of their own. */
interface Room {
  left: number;
  /** In ms of the monotonic clock. */
  readonly countedAtMs: number;
}

/** The share of the free places that is given away on one count: 1/8 leaves the rest to other processes. */
const SHARE = 8;
const BELIEVED_MS = 1_000;
const ROOMS_MAX = 10_000;

/**
 * Whether an account may queue one more task for a pool. Counting a queue costs as much as it is long, so one count serves the orders of a
 * second, up to an eighth of what was free. One process alone never lets more than `most` wait; each further process may add an eighth of what
 * it found free, and orders of the same moment may pass together.
 */
export class QueueRoom {
  readonly #queue: TaskQueue;
  readonly #now: () => number;
  readonly #rooms = new LruMap<string, Room>(ROOMS_MAX);

  constructor(queue: TaskQueue, now: () => number = () => performance.now()) {
    this.#queue = queue;
    this.#now = now;
  }

  /** Takes the place that it finds. Rejects when the queue cannot be counted. */
  async take(pool: string, accountId: string, most: number): Promise<boolean> {
    const name = `${accountId} ${most} ${pool}`;
    const known = this.#rooms.get(name);
    if (known && known.left > 0 && this.#now() - known.countedAtMs < BELIEVED_MS) {
      known.left -= 1;
      return true;
    }
    const countedAtMs = this.#now();
    const free = most - (await this.#queue.countQueued(pool, accountId, most));
    this.#rooms.set(name, { left: Math.floor(free / SHARE), countedAtMs });
    return free > 0;
  }
}
