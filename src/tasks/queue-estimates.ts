import type { TaskReadsStore } from './task-reads.store.ts';
import type { TaskView } from './tasks.types.ts';

export interface QueueEstimate {
  /** 1 = next, in our queue or in the engine's own; null when it does not wait for an engine. */
  readonly queuePosition: number | null;
  /** Seconds until the task is done; 0 when unknown. */
  readonly etaSeconds: number;
}

interface Cached<T> {
  readonly value: Promise<T>;
  readonly readAt: number;
}

const QUEUE_AGE_MS = 1_000;
const DURATION_AGE_MS = 10_000;
const CACHE_ENTRIES_MAX = 500;

/** Queue positions and times to completion, from readings that all recent polls share. */
export class QueueEstimates {
  readonly #reads: TaskReadsStore;
  readonly #liveSlots: () => Promise<ReadonlyMap<string, number>>;
  readonly #queues = new Map<string, Cached<Map<string, number>>>();
  readonly #durations = new Map<string, Cached<number | undefined>>();
  readonly #slots = new Map<string, Cached<ReadonlyMap<string, number>>>();

  /** `liveSlots` returns how many tasks all workers can run at once, by queue. */
  constructor(reads: TaskReadsStore, liveSlots: () => Promise<ReadonlyMap<string, number>>) {
    this.#reads = reads;
    this.#liveSlots = liveSlots;
  }

  /** Returns the task's position and time left. Ended tasks have no position. */
  async estimate(task: TaskView): Promise<QueueEstimate> {
    if (task.completedAt) {
      return { queuePosition: null, etaSeconds: 0 };
    }
    const typicalMs = await cached(this.#durations, task.model, DURATION_AGE_MS, () =>
      this.#reads.typicalDurationMs(task.model),
    );
    if (task.state !== 'queued') {
      // the runs ahead of it in the engine's own queue come first
      const queuePosition = task.state === 'generating' ? task.enginePosition : null;
      const runs = (queuePosition ?? 0) + 1 - task.progress;
      return { queuePosition, etaSeconds: seconds((typicalMs ?? 0) * runs) };
    }
    const queuePosition = await this.#position(task);
    const slots = await cached(this.#slots, '', QUEUE_AGE_MS, this.#liveSlots);
    const parallel = Math.max(1, slots.get(`generate-${task.pool}`) ?? 1);
    const rounds = Math.ceil(queuePosition / parallel);
    return { queuePosition, etaSeconds: seconds((typicalMs ?? 0) * rounds) };
  }

  /**
   * Returns the task's position. The queue goes around the accounts: ahead of an account's third task it counts up to two of each
   * other account.
   */
  async #position(task: TaskView): Promise<number> {
    const [waiting, turn] = await Promise.all([
      cached(this.#queues, task.pool, QUEUE_AGE_MS, () => this.#reads.queueByAccount(task.pool)),
      this.#reads.ownTurn(task.pool, task.accountId, task.id),
    ]);
    let position = Math.max(1, turn);
    for (const [accountId, tasks] of waiting) {
      if (accountId !== task.accountId) {
        position += Math.min(tasks, Math.max(0, turn - 1));
      }
    }
    return position;
  }
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}

async function cached<T>(
  cache: Map<string, Cached<T>>,
  key: string,
  ageMs: number,
  read: () => Promise<T>,
): Promise<T> {
  const known = cache.get(key);
  if (known && performance.now() - known.readAt < ageMs) {
    return await known.value;
  }
  if (cache.size >= CACHE_ENTRIES_MAX) {
    cache.clear();
  }
  const value = read();
  cache.set(key, { value, readAt: performance.now() });
  try {
    return await value;
  } catch (error) {
    cache.delete(key);
    throw error;
  }
}
