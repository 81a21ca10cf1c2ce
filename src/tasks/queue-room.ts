import { LruMap } from '../lib/lru-map.ts';

/** Knows what waits. */
export interface TaskQueue {
  /** Tasks of the account that wait for the pool; no more than `most` are counted. */
  countQueued(pool: string, accountId: string, most: number): Promise<number>;
}

/** What one count found, for all who order meanwhile. */
interface Room {
  /** Ends when the tasks are counted. */
  readonly counted: Promise<void>;
  /** Orders that need no count of their own; undefined: still being counted. */
  left: number | undefined;
  isFull: boolean;
  /** In ms of the monotonic clock. */
  readonly countedAtMs: number;
}

/** The share of the free places that is given away on one count: 1/8 leaves the rest to other processes. */
const SHARE = 8;
const BELIEVED_MS = 1_000;
const ROOMS_MAX = 10_000;

/**
 * Whether an account may queue one more task for a pool. Counting a queue costs as much as it is long, so one count serves the orders of a
 * second, up to an eighth of what was free, and those that come while it is made share it. One process alone lets no more than `most` wait, but
 * for orders that are on their way into the queue; each further process may add an eighth of what it found free.
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
    for (;;) {
      const room = this.#believed(name) ?? this.#count(name, pool, accountId, most);
      await room.counted;
      if (room.left !== undefined && room.left > 0) {
        room.left -= 1;
        return true;
      }
      if (room.isFull) {
        return false;
      }
    }
  }

  #believed(name: string): Room | undefined {
    const room = this.#rooms.get(name);
    const isGood =
      room && (room.left === undefined || (room.left > 0 && this.#now() - room.countedAtMs < BELIEVED_MS));
    return isGood ? room : undefined;
  }

  #count(name: string, pool: string, accountId: string, most: number): Room {
    const counting = this.#queue.countQueued(pool, accountId, most);
    const room: Room = {
      counted: counting.then(
        (waiting) => {
          const free = most - waiting;
          room.isFull = free <= 0;
          room.left = room.isFull ? 0 : Math.max(1, Math.floor(free / SHARE));
        },
        (error: unknown) => {
          room.left = 0;
          throw error;
        },
      ),
      left: undefined,
      isFull: false,
      countedAtMs: this.#now(),
    };
    this.#rooms.set(name, room);
    return room;
  }
}
