import { AppError } from '../lib/errors.ts';
import { classifyFailure } from './failure-kind.ts';

/** What a lane does with an item it cannot get through. */
export interface LaneOptions<Item, Result> {
  readonly name: string;
  /** Sends one batch in one statement; the results stand in the order of the items. Sending it again must be harmless. */
  readonly send: (items: readonly Item[]) => Promise<Result[]>;
  /** Items of one group wait for the same lock; a group that is stuck must not hold up the others. */
  readonly groupOf: (item: Item) => string;
  readonly batchItemsMax: number;
  /** Items waiting beyond this are refused with service_unavailable. Infinity where nothing may be dropped. */
  readonly queueItemsMax: number;
  /** Milliseconds after which an item that cannot be sent is refused with service_unavailable; Infinity: tried for ever. */
  readonly giveUpAfterMs: number;
  readonly observer: LaneObserver;
}

/** Hears what the lanes do; feeds metrics and the log. */
export interface LaneObserver {
  batchSent(lane: string, items: number, durationMs: number, oldestWaitMs: number): void;
  sendFailed(lane: string, items: number, error: unknown): void;
  /** An item that the database refuses by itself: a programming error, for a human to look at. */
  itemQuarantined(lane: string, error: unknown): void;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly signal: AbortSignal | undefined;
  readonly enteredAt: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 1_000;

/**
 * Group commit: one statement in flight, and what arrives meanwhile is the next batch. There is no timer, so a lone
 * item is sent at once and the batch grows by itself with the load. A promise resolves after the COMMIT has returned.
 */
export class CommitLane<Item, Result> {
  readonly #options: LaneOptions<Item, Result>;
  #queue: Waiting<Item, Result>[] = [];
  #running: Promise<void> | undefined;
  /** Groups that are stuck behind a lock get a lane of their own until they are through. */
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

  /**
   * Resolves when the item's batch has committed. Rejects with service_unavailable when the lane is full or the database
   * stays away too long, with the signal's reason when the caller left before the item was sent, and with the
   * database's error when the item itself is refused.
   */
  submit(item: Item, signal?: AbortSignal): Promise<Result> {
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
      this.#enqueue([{ item, signal, enteredAt: performance.now(), resolve, reject }]);
    });
  }

  /** Resolves when nothing is waiting or in flight any more. */
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
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      if (batch.length > 0) {
        await this.#deliver(batch);
      }
    }
  }

  #takeBatch(): Waiting<Item, Result>[] {
    const batch = this.#queue.slice(0, this.#options.batchItemsMax);
    this.#queue = this.#queue.slice(batch.length);
    return batch.filter((waiting) => {
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

  #enqueue(items: readonly Waiting<Item, Result>[]): void {
    this.#queue.push(...items);
    this.#start();
  }

  /** Sends until the batch is through, given up, or taken apart. */
  async #deliver(batch: readonly Waiting<Item, Result>[]): Promise<void> {
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
      if (kind === 'lock' && !this.#isDetour) {
        return this.#detour(batch);
      }
      // Not known whether it committed: the same ids are sent again, and what is done already stays as it is.
      await pause(Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** retry) * (0.5 + Math.random() / 2));
      batch = this.#refuseOverdue(batch, error);
      if (batch.length === 0) {
        return;
      }
    }
  }

  async #trySend(batch: readonly Waiting<Item, Result>[]): Promise<unknown> {
    const sentAt = performance.now();
    try {
      const results = await this.#options.send(batch.map((waiting) => waiting.item));
      const oldest = batch[0]?.enteredAt ?? sentAt;
      this.#options.observer.batchSent(
        this.#options.name,
        batch.length,
        performance.now() - sentAt,
        sentAt - oldest,
      );
      batch.forEach((waiting, index) => {
        waiting.resolve(results[index] as Result);
      });
      return undefined;
    } catch (error) {
      return error ?? new Error('send failed without a reason');
    }
  }

  /** Halves a batch that the database refuses until the refused item stands alone; the others go through. */
  async #isolate(batch: readonly Waiting<Item, Result>[], error: unknown): Promise<void> {
    if (batch.length === 1) {
      this.#options.observer.itemQuarantined(this.#options.name, error);
      batch[0]?.reject(error);
      return;
    }
    const middle = Math.ceil(batch.length / 2);
    await this.#deliver(batch.slice(0, middle));
    await this.#deliver(batch.slice(middle));
  }

  /** Gives each group of a batch that ran into a lock its own lane, so that only the stuck one waits. */
  #detour(batch: readonly Waiting<Item, Result>[]): void {
    for (const [group, members] of this.#groupsOf(batch)) {
      const lane = new CommitLane<Item, Result>(this.#options, true);
      this.#detours.set(group, lane);
      lane.#enqueue(members);
      void lane.flush().then(() => this.#detours.delete(group));
    }
  }

  #groupsOf(batch: readonly Waiting<Item, Result>[]): Map<string, Waiting<Item, Result>[]> {
    const groups = new Map<string, Waiting<Item, Result>[]>();
    for (const waiting of batch) {
      const group = this.#options.groupOf(waiting.item);
      groups.set(group, [...(groups.get(group) ?? []), waiting]);
    }
    return groups;
  }

  #refuseOverdue(batch: readonly Waiting<Item, Result>[], cause: unknown): Waiting<Item, Result>[] {
    return batch.filter((waiting) => {
      if (performance.now() - waiting.enteredAt < this.#options.giveUpAfterMs) {
        return true;
      }
      const message = 'The ledger cannot be reached right now.';
      waiting.reject(new AppError('service_unavailable', message, { retryAfterSeconds: 1, cause }));
      return false;
    });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
