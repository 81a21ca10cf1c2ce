import { every, type Loop } from '../src/lib/every.ts';
import type { Producer } from './producer.ts';
import type { RelayFeed } from './relay-feed.ts';
import { RelayRunner, type RelayTiming } from './relay-runner.ts';

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
