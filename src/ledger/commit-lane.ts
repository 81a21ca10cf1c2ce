import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { AppError } from '../lib/errors.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { classifyFailure } from './failure-kind.ts';
import { Herd } from './herd.ts';
import { WaitingItem } from './waiting-item.ts';

/** How a lane sends its items, and what it does when they cannot be sent. */
export interface LaneOptions<Item, Result> {
  readonly name: string;
  /** Sends one batch in one statement. Results are in the order of the items. Sending a batch twice must be harmless. */
  readonly send: (items: readonly Item[]) => Promise<Result[]>;
  /** Items of one group wait for the same lock. A stuck group must not hold up the others. */
  readonly groupOf: (item: Item) => string;
  readonly batchItemsMax: number;
  /** Maximum number of waiting items; more are rejected with service_unavailable. Infinity where nothing may be dropped. */
  readonly queueItemsMax: number;
  /**
   * Time after which an item is rejected with service_unavailable, in ms, even if its statement has not returned.
   * Infinity: retried forever.
   */
  readonly giveUpAfterMs: number;
  /** Returns whether calls wait for their turn to begin. Batches then gather longer: throughput counts, not the wait of a single item. */
  readonly isCrowded?: () => boolean;
  /** Called when an item commits after it was already rejected. */
  readonly onLate?: (item: Item, result: Result) => void;
  readonly observer: LaneObserver;
}

/** Observes the lanes, for metrics and the log. */
export interface LaneObserver {
  batchSent(lane: string, items: number, durationMs: number, oldestWaitMs: number): void;
  sendFailed(lane: string, items: number, error: unknown): void;
  /** The database rejects an item even on its own: a bug that a human must look into. */
  itemQuarantined(lane: string, error: unknown): void;
}

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 1_000;
/**
 * After this many failures on as many connections, the batch is split by group, so that the others pass if one item is at fault after all.
 */
const STATEMENT_RETRIES = 8;
/** How often overdue items are looked for within `giveUpAfterMs`. */
const WATCHES_PER_PATIENCE = 12;

/**
 * Group commit: one statement is in flight, and items that arrive meanwhile form the next batch. A lone item is sent at the end
 * of its turn of the event loop; the first of a herd, or in a crowd, briefly waits for the rest. Batches therefore grow with the load. A
 * promise resolves after COMMIT has returned.
 */
export class CommitLane<Item, Result> {
  readonly #options: LaneOptions<Item, Result>;
  #queue: WaitingItem<Item, Result>[] = [];
  #inFlight: readonly WaitingItem<Item, Result>[] = [];
  readonly #herd = new Herd();
  #watch: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** A lane of its own for each stuck group, until its items are through. */
  readonly #detours = new Map<string, CommitLane<Item, Result>>();

  readonly #isDetour: boolean;

  constructor(options: LaneOptions<Item, Result>, isDetour = false) {
    this.#options = options;
    this.#isDetour = isDetour;
  }

  /** Items waiting or in flight, detours included. */
  get depth(): number {
    let total = this.#queue.length;
    for (const detour of this.#detours.values()) {
      total += detour.depth;
    }
    return total;
  }

  /** How long the oldest item has been here, in ms; 0 for an empty lane. Detours, which wait for a lock, do not count. */
  get delayMs(): number {
    const [oldest] = this.#inFlight.length > 0 ? this.#inFlight : this.#queue;
    return oldest === undefined ? 0 : performance.now() - oldest.enteredAt;
  }

  /**
   * Resolves when the item's batch has committed. Rejects with service_unavailable when the lane is full or the database
   * is unreachable for too long, with the signal's reason when the caller left before the item was sent, and with the
   * database's error when the item itself is rejected.
   */
  submit(item: Item, signal?: StopSignal): Promise<Result> {
    const detour = this.#detours.get(this.#options.groupOf(item));
    if (detour) {
      return detour.submit(item, signal);
    }
    if (this.#queue.length >= this.#options.queueItemsMax) {
      return Promise.reject(
        new AppError('service_unavailable', 'Too many requests are waiting.', { retryAfterSeconds: 1 }),
      );
    }
    return new Promise((resolve, reject) => {
      this.#enqueue([new WaitingItem(item, signal, resolve, reject)]);
    });
  }

  /** Resolves when nothing is waiting or in flight. */
  async flush(): Promise<void> {
    while (this.#running !== undefined || this.#detours.size > 0) {
      await this.#running;
      await Promise.all([...this.#detours.values()].map((detour) => detour.flush()));
    }
  }

  #start(): void {
    if (this.#running !== undefined) {
      return;
    }
    this.#running = this.#drain().finally(() => {
      this.#running = undefined;
      if (this.#queue.length > 0) {
        this.#start();
      }
    });
  }

  async #drain(): Promise<void> {
    if (!this.#herd.isAwaited(this.#queue.length)) {
      // items that arrive in the same turn of the event loop join the batch
      await nextTurn();
    }
    while (this.#queue.length > 0) {
      if (this.#options.isCrowded?.()) {
        await this.#herd.gatherCrowd(this.#queue.length);
      } else if (this.#herd.isAwaited(this.#queue.length)) {
        await this.#herd.gather();
      }
      const batch = this.#takeBatch();
      if (batch.length > 0) {
        await this.#deliver(batch);
      }
    }
  }

  #takeBatch(): WaitingItem<Item, Result>[] {
    const batch = this.#queue.slice(0, this.#options.batchItemsMax);
    this.#queue = this.#queue.slice(batch.length);
    return batch.filter((waiting) => {
      if (waiting.isRefused) {
        return false;
      }
      if (waiting.signal?.aborted) {
        waiting.reject(waiting.signal.reason);
        return false;
      }
      const detour = this.#detours.get(this.#options.groupOf(waiting.item));
      if (detour !== undefined) {
        detour.#enqueue([waiting]);
        return false;
      }
      return true;
    });
  }

  #enqueue(items: readonly WaitingItem<Item, Result>[]): void {
    this.#queue.push(...items);
    this.#herd.arrived(this.#queue.length);
    this.#start();
    this.#watchPatience();
  }

  /** A statement that gets no answer holds up its batch and the queue behind it, so overdue items are rejected on a timer. */
  #watchPatience(): void {
    const { giveUpAfterMs } = this.#options;
    if (this.#watch !== undefined || !Number.isFinite(giveUpAfterMs)) {
      return;
    }
    this.#watch = setTimeout(() => {
      this.#watch = undefined;
      this.#refuseOverdue(this.#inFlight);
      this.#queue = this.#refuseOverdue(this.#queue);
      if (this.#running !== undefined) {
        this.#watchPatience();
      }
    }, giveUpAfterMs / WATCHES_PER_PATIENCE);
    this.#watch.unref();
  }

  /** Sends the batch until all its items have committed, been rejected or moved to other lanes. */
  async #deliver(batch: readonly WaitingItem<Item, Result>[]): Promise<void> {
    for (let retry = 0; ; retry += 1) {
      const error = await this.#trySend(batch);
      if (error === undefined) {
        return;
      }
      this.#options.observer.sendFailed(this.#options.name, batch.length, error);
      const kind = classifyFailure(error);
      if (kind === 'item') {
        return await this.#isolate(batch, error);
      }
      const isStuck = kind === 'lock' || (kind === 'statement' && retry >= STATEMENT_RETRIES);
      if (isStuck && !this.#isDetour) {
        return this.#detour(batch);
      }
      // it may have committed: the same ids are sent again, and whatever is already done stays as it is
      await pause(Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** retry) * (0.5 + Math.random() / 2));
      batch = this.#refuseOverdue(batch, error);
      if (batch.length === 0) {
        return;
      }
    }
  }

  async #trySend(batch: readonly WaitingItem<Item, Result>[]): Promise<unknown> {
    const sentAt = performance.now();
    this.#inFlight = batch;
    try {
      const results = await this.#options.send(batch.map((waiting) => waiting.item));
      const oldest = batch[0]?.enteredAt ?? sentAt;
      const endedAt = performance.now();
      this.#herd.left(batch.length, endedAt - sentAt, endedAt);
      this.#options.observer.batchSent(this.#options.name, batch.length, endedAt - sentAt, sentAt - oldest);
      batch.forEach((waiting, index) => {
        this.#finish(waiting, results[index] as Result);
      });
      return undefined;
    } catch (error) {
      return error ?? new Error('send failed without a reason');
    } finally {
      this.#inFlight = [];
    }
  }

  #finish(waiting: WaitingItem<Item, Result>, result: Result): void {
    if (waiting.isRefused) {
      this.#options.onLate?.(waiting.item, result);
    } else {
      waiting.resolve(result);
    }
  }

  /** Halves a rejected batch until the rejected item is alone; the others go through. */
  async #isolate(batch: readonly WaitingItem<Item, Result>[], error: unknown): Promise<void> {
    if (batch.length === 1) {
      this.#options.observer.itemQuarantined(this.#options.name, error);
      batch[0]?.reject(error);
      return;
    }
    const middle = Math.ceil(batch.length / 2);
    await this.#deliver(batch.slice(0, middle));
    await this.#deliver(batch.slice(middle));
  }

  /** Gives each group of a stuck batch its own lane, so that only the group that is really stuck waits. */
  #detour(batch: readonly WaitingItem<Item, Result>[]): void {
    for (const [group, members] of this.#groupsOf(batch)) {
      const lane = new CommitLane<Item, Result>(this.#options, true);
      this.#detours.set(group, lane);
      lane.#enqueue(members);
      void lane.flush().then(() => this.#detours.delete(group));
    }
  }

  #groupsOf(batch: readonly WaitingItem<Item, Result>[]): Map<string, WaitingItem<Item, Result>[]> {
    const groups = new Map<string, WaitingItem<Item, Result>[]>();
    for (const waiting of batch) {
      const group = this.#options.groupOf(waiting.item);
      groups.set(group, [...(groups.get(group) ?? []), waiting]);
    }
    return groups;
  }

  /** Rejects overdue items and returns those that may still wait. */
  #refuseOverdue(batch: readonly WaitingItem<Item, Result>[], cause?: unknown): WaitingItem<Item, Result>[] {
    return batch.filter((waiting) => {
      if (waiting.isRefused) {
        return false;
      }
      if (performance.now() - waiting.enteredAt < this.#options.giveUpAfterMs) {
        return true;
      }
      const message = 'The ledger cannot be reached right now.';
      waiting.reject(new AppError('service_unavailable', message, { retryAfterSeconds: 1, cause }));
      return false;
    });
  }
}
