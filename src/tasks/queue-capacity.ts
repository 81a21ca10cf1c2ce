import { LruMap } from '../lib/lru-map.ts';

/** A queue whose waiting tasks can be counted. */
export interface TaskQueue {
  /** Returns how many tasks of the account wait for the pool, counting no further than `most`. */
  countQueued(pool: string, accountId: string, most: number): Promise<number>;
}

/** The result of one count, shared by all orders that arrive meanwhile. */
interface Room {
  /** Resolves when the tasks have been counted. */
  readonly counted: Promise<void>;
  /** Orders that may pass without a count of their own; undefined while counting. */
  left: number | undefined;
  isFull: boolean;
  /** In ms of the monotonic clock. */
  readonly countedAtMs: number;
}

/** Divisor for the free places given away per count: an eighth, which leaves the rest to other processes. */
const SHARE = 8;
const BELIEVED_MS = 1_000;
const ROOMS_MAX = 10_000;

/**
 * Decides whether an account may queue one more task for a pool. A count costs more the longer the queue is. So one count serves
 * the orders of a second, up to an eighth of the free places, and orders that arrive during a count share it. A single process lets
 * no more than `most` tasks wait, except for orders on their way into the queue; each further process may add an eighth of what it
 * found free.
 */
export class QueueCapacity {
  readonly #queue: TaskQueue;
  readonly #now: () => number;
  readonly #rooms = new LruMap<string, Room>(ROOMS_MAX);

  constructor(queue: TaskQueue, now: () => number = () => performance.now()) {
    this.#queue = queue;
    this.#now = now;
  }

  /** Takes a place; returns false when none is free. Rejects when the queue cannot be counted. */
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
