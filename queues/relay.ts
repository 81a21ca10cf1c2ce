import { every, type Loop } from '../src/lib/every.ts';
import { MinInterval } from '../src/lib/min-interval.ts';
import type { Producer } from './producer.ts';
import type { RelayFeed } from './relay-feed.ts';

interface RelayTiming {
  /** Ms between looks when nothing wakes the runner: the safety net behind the notifications. */
  readonly sweepMs: number;
  /** Ms after which a dispatched row that still waits is dispatched again. */
  readonly lostAfterMs: number;
  /** The same for an empty queue, which shows that Redis has lost its jobs. */
  readonly lostFromEmptyQueueAfterMs: number;
  /** Rows per statement and per Redis pipeline. */
  readonly batch: number;
}

export interface RelaySettings extends Partial<RelayTiming> {
  /** Jobs kept waiting per live slot. Few, because rows in the database are still scheduled fairly and can be canceled. */
  readonly waitingPerSlot?: number;
  /** Jobs kept waiting when no worker has reported its slots. */
  readonly waitingMinimum?: number;
}

export interface RelayDependencies {
  readonly producer: Producer;
  readonly feeds: readonly RelayFeed[];
  /** Returns how many jobs all live workers of a queue can run at once, by queue. */
  readonly liveSlots: () => Promise<ReadonlyMap<string, number>>;
  readonly onError: (error: unknown, queue: string) => void;
  readonly settings?: RelaySettings;
}

/** Ms before a full queue is checked again; doubles while no worker takes from it. */
const FULL_QUEUE_MS = 20;
const FULL_QUEUE_MS_MAX = 320;
/** Minimum ms between two looks: rows that arrive one by one each wake the runner, and this pause lets it take them together. */
const LOOK_PACE_MS = 15;
const FAILURE_MS = 50;
const FAILURE_MS_MAX = 1_000;
const SLOTS_AGE_MS = 2_000;
const DEFAULTS = {
  sweepMs: 1_000,
  lostAfterMs: 30_000,
  lostFromEmptyQueueAfterMs: 3_000,
  batch: 100,
  waitingPerSlot: 2,
  waitingMinimum: 4,
} as const satisfies Required<RelaySettings>;

/**
 * Turns rows waiting in the database into jobs. Postgres is the outbox, so a job is only a wake-up call: a lost one is sent again,
 * a duplicate finds nothing to do, and several relays share the rows.
 */
export class Relay {
  readonly #runners: readonly RelayRunner[];
  readonly #dependencies: RelayDependencies;
  readonly #settings: Required<RelaySettings>;
  #slots: ReadonlyMap<string, number> = new Map();
  readonly #refresh: Loop;

  /** Starts at once. */
  constructor(dependencies: RelayDependencies) {
    this.#dependencies = dependencies;
    this.#settings = { ...DEFAULTS, ...dependencies.settings };
    this.#runners = dependencies.feeds.map(
      (feed) =>
        new RelayRunner(
          feed,
          dependencies.producer,
          this.#settings,
          () => this.#depth(feed.queue),
          dependencies.onError,
        ),
    );
    this.#refresh = every(SLOTS_AGE_MS, () => this.#refreshSlots());
    void this.#refresh.runNow();
  }

  /** Looks for waiting rows now, in the given queue or in all. */
  wake(queue?: string): void {
    for (const [index, feed] of this.#dependencies.feeds.entries()) {
      if (queue === undefined || feed.queue === queue) {
        this.#runners[index]?.wake();
      }
    }
  }

  /** Stops after the batches in progress. The producer stays open. */
  async close(): Promise<void> {
    await Promise.all([this.#refresh.close(), ...this.#runners.map((runner) => runner.close())]);
  }

  #depth(queue: string): number {
    const slots = this.#slots.get(queue) ?? 0;
    return Math.max(this.#settings.waitingMinimum, Math.ceil(slots * this.#settings.waitingPerSlot));
  }

  async #refreshSlots(): Promise<void> {
    try {
      this.#slots = await this.#dependencies.liveSlots();
    } catch (error) {
      this.#dependencies.onError(error, 'slots');
    }
  }
}

/** Keeps one queue filled up to its depth, one batch at a time. */
class RelayRunner {
  readonly #feed: RelayFeed;
  readonly #producer: Producer;
  readonly #timing: RelayTiming;
  readonly #depth: () => number;
  readonly #onError: (error: unknown, queue: string) => void;
  readonly #stopped: Promise<void>;
  readonly #pace = new MinInterval(LOOK_PACE_MS);
  #closing = false;
  #woken = false;
  #interrupt: (() => void) | undefined;
  #failures = 0;
  #lastWaiting = -1;
  #fullMs = FULL_QUEUE_MS;

  constructor(
    feed: RelayFeed,
    producer: Producer,
    timing: RelayTiming,
    depth: () => number,
    onError: (error: unknown, queue: string) => void,
  ) {
    this.#feed = feed;
    this.#producer = producer;
    this.#timing = timing;
    this.#depth = depth;
    this.#onError = onError;
    this.#stopped = this.#run();
  }

  /** Looks for rows now, or right after the look in progress. */
  wake(): void {
    this.#woken = true;
    this.#interrupt?.();
  }

  /** Stops after the batch in progress. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#interrupt?.();
    await this.#stopped;
  }

  async #run(): Promise<void> {
    while (!this.#closing) {
      await this.#pace.begin();
      this.#woken = false;
      try {
        const pauseMs = await this.#moveBatch();
        this.#failures = 0;
        await this.#pause(pauseMs, pauseMs === this.#timing.sweepMs);
      } catch (error) {
        this.#failures += 1;
        this.#onError(error, this.#feed.queue);
        await this.#pause(Math.min(FAILURE_MS * 2 ** this.#failures, FAILURE_MS_MAX), false);
      }
    }
  }

  /** Moves one batch. Returns the ms to wait before the next. */
  async #moveBatch(): Promise<number> {
    const waiting = await this.#producer.waiting(this.#feed.queue);
    const room = this.#depth() - waiting;
    if (room <= 0) {
      this.#fullMs =
        waiting === this.#lastWaiting ? Math.min(this.#fullMs * 2, FULL_QUEUE_MS_MAX) : FULL_QUEUE_MS;
      this.#lastWaiting = waiting;
      return this.#fullMs;
    }
    const limit = Math.min(room, this.#timing.batch);
    const lostAfterMs = waiting === 0 ? this.#timing.lostFromEmptyQueueAfterMs : this.#timing.lostAfterMs;
    const tickets = await this.#feed.take(limit, lostAfterMs);
    if (tickets.length === 0) {
      return this.#timing.sweepMs;
    }
    try {
      await this.#feed.send(this.#producer, tickets);
    } catch (error) {
      await this.#feed.putBack(tickets);
      throw error;
    }
    if (tickets.length < limit) {
      return this.#timing.sweepMs;
    }
    return limit === room ? FULL_QUEUE_MS : 0;
  }

  async #pause(milliseconds: number, wakeable: boolean): Promise<void> {
    if (milliseconds === 0 || this.#closing || (wakeable && this.#woken)) {
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#interrupt = () => {
        if (wakeable || this.#closing) {
          clearTimeout(timer);
          resolve();
        }
      };
    });
    this.#interrupt = undefined;
  }
}
