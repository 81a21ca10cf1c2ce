import type { GpuShare } from '../engines/gpu-memory.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';

export interface GpuMemoryGateParts {
  /** Memory of each GPU of this host, in MiB. */
  readonly totals: ReadonlyMap<number, number>;
  /** Unloads the models that a pool's server has in memory; rejects if it does not unload them. */
  readonly free: (pool: string, mib: number) => Promise<void>;
  readonly log: Logger;
  /** A monotonic clock in ms; `performance.now` unless a test has its own. */
  readonly now?: () => number;
}

/** Ms for which a pool may keep its models on a GPU while another waits for it: loading takes tens of seconds. */
const TURN_MS = 60_000;
/** Ms without a run after which a pool counts as idle while others wait for it. */
const IDLE_MS = 500;
const TICK_MS = 250;

/** The GPU has no memory for a run at the moment. */
export class GpuMemoryUnavailableError extends Error {
  override readonly name = 'GpuMemoryUnavailableError';

  constructor() {
    super('other runs use the memory of the GPU');
  }
}

/** How a task that found no room goes back: it never began, and other hosts come first. */
export const AFTER_GPU_MEMORY_SHORTAGE = {
  failures: 0,
  uncounted: true,
  waitMs: 1_000,
  avoidMs: 60_000,
  forgetRun: false,
  reason: 'no_gpu_memory',
} as const;

/** Called when a pool may take tasks again, or should leave them to other hosts. */
export type RoomListener = (pool: string, hasRoom: boolean) => void;

interface Waiter {
  readonly pool: string;
  readonly enter: () => void;
}

/**
 * The memory of this host's GPUs, where several pools share one. A run enters, in the order of arrival, when its server fits beside
 * the servers that work; idle servers in the way are unloaded first. Pools take turns, so that models are not loaded for every run
 * and no pool waits forever. While one works, the queues of the others are left to other hosts.
 */
export class GpuMemoryGate {
  readonly #parts: GpuMemoryGateParts;
  readonly #now: () => number;
  readonly #listeners = new Set<RoomListener>();
  #cards: readonly Card[] = [];
  readonly #ticks: Loop;

  constructor(parts: GpuMemoryGateParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
    this.#ticks = every(TICK_MS, async () => this.tick());
  }

  /** Puts new shares in force. No runs may be in progress on the engines of the previous ones. */
  renew(shares: readonly GpuShare[]): void {
    this.#cards = [...this.#parts.totals].map(([gpu, total]) => {
      const here = shares.filter((share) => share.gpu === gpu);
      return new Card(total, here, this.#parts, this.#now);
    });
    this.tick();
  }

  /** Returns whether the pool may take a task: it would find room soon. */
  hasRoom(pool: string): boolean {
    return this.#cards.every((card) => card.hasRoom(pool));
  }

  /** Calls the listener on each change until the returned function is called. */
  onChange(listener: RoomListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns whether the pool's runs have to find room beside those of others. */
  isShared(pool: string): boolean {
    return this.#cards.some((card) => card.shares(pool));
  }

  /** Waits for room for a run. Returns the function that leaves it; only its first call counts. Rejects with the signal's reason. */
  async take(pool: string, signal: AbortSignal): Promise<() => void> {
    const card = this.#cards.find((one) => one.shares(pool));
    if (!card) {
      return () => undefined;
    }
    await card.enter(pool, signal);
    this.tick();
    let isIn = true;
    return () => {
      if (isIn) {
        isIn = false;
        card.leave(pool);
        this.tick();
      }
    };
  }

  /** Determines which pools may work now, and tells the listeners what has changed. */
  tick(): void {
    for (const card of this.#cards) {
      for (const [pool, hasRoom] of card.changes()) {
        for (const listener of this.#listeners) {
          listener(pool, hasRoom);
        }
      }
    }
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#ticks.close();
  }
}

/** One GPU and the pools that share it. */
class Card {
  readonly #total: number;
  readonly #parts: Pick<GpuMemoryGateParts, 'free' | 'log'>;
  readonly #now: () => number;
  /** MiB of each pool that gives memory back. */
  readonly #shares: ReadonlyMap<string, number>;
  /** Number of runs of each loaded pool; 0 when only its models are still loaded. */
  readonly #loaded = new Map<string, number>();
  readonly #waiting: Waiter[] = [];
  readonly #told = new Map<string, boolean>();
  #turnBegan = 0;
  #idleSince = Number.NEGATIVE_INFINITY;
  #isMakingRoom = false;

  constructor(
    total: number,
    shares: readonly GpuShare[],
    parts: Pick<GpuMemoryGateParts, 'free' | 'log'>,
    now: () => number,
  ) {
    const kept = shares.filter(({ keeps }) => keeps).reduce((sum, { mib }) => sum + mib, 0);
    this.#total = total - kept;
    this.#shares = new Map(shares.filter(({ keeps }) => !keeps).map(({ pool, mib }) => [pool, mib]));
    this.#parts = parts;
    this.#now = now;
  }

  shares(pool: string): boolean {
    return this.#shares.has(pool);
  }

  async enter(pool: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        pool,
        enter: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const giveUp = (): void => {
        const place = this.#waiting.indexOf(waiter);
        if (place !== -1) {
          this.#waiting.splice(place, 1);
          reject(signal.reason);
          void this.#letIn();
        }
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiter);
      void this.#letIn();
    });
  }

  leave(pool: string): void {
    this.#loaded.set(pool, (this.#loaded.get(pool) ?? 1) - 1);
    this.#idleSince = this.#now();
    void this.#letIn();
  }

  hasRoom(pool: string): boolean {
    if (!this.#shares.has(pool)) {
      return true;
    }
    if (this.#waiting.some((waiter) => waiter.pool !== pool)) {
      return false;
    }
    const now = this.#now();
    const isIdle = !this.#working.some(([, runs]) => runs > 0);
    const isHolder = this.#loaded.has(pool);
    const contested = [...this.#shares.keys()].some(
      (other) => !this.#loaded.has(other) && !this.#fitsBeside(other, () => true),
    );
    const isOver = contested && now - this.#turnBegan >= TURN_MS;
    if (isHolder) {
      // its turn is over: others get a moment to go first
      return !isOver || (isIdle && now - this.#idleSince >= IDLE_MS);
    }
    if (this.#fitsBeside(pool, () => true)) {
      return true;
    }
    return this.#fitsBeside(pool, (runs) => runs > 0) && (isOver || now - this.#idleSince >= IDLE_MS);
  }

  /** Returns the pools whose permission to work has changed since the last call. */
  changes(): [string, boolean][] {
    const now = this.#now();
    const isIdle = !this.#working.some(([, runs]) => runs > 0);
    if (isIdle && now - this.#idleSince >= IDLE_MS) {
      // no other pool came when the turn was over: it starts over
      this.#turnBegan = now;
    }
    void this.#letIn();
    const changed: [string, boolean][] = [];
    for (const pool of this.#shares.keys()) {
      const hasRoom = this.hasRoom(pool);
      if ((this.#told.get(pool) ?? true) !== hasRoom) {
        changed.push([pool, hasRoom]);
      }
      this.#told.set(pool, hasRoom);
    }
    return changed;
  }

  get #working(): [string, number][] {
    return [...this.#loaded];
  }

  /** Returns whether the pool fits beside those loaded pools that count. */
  #fitsBeside(pool: string, counts: (runs: number) => boolean): boolean {
    const others = this.#working.filter(([other, runs]) => other !== pool && counts(runs));
    const used = others.reduce((sum, [other]) => sum + (this.#shares.get(other) ?? 0), 0);
    return used + (this.#shares.get(pool) ?? 0) <= this.#total;
  }

  /** Lets waiters in, in order and one at a time: each one counts before the next is considered. */
  async #letIn(): Promise<void> {
    if (this.#isMakingRoom) {
      return;
    }
    this.#isMakingRoom = true;
    try {
      for (let head = this.#waiting[0]; head && (await this.#makeRoom(head.pool)); head = this.#waiting[0]) {
        if (this.#waiting[0] !== head) {
          continue;
        }
        this.#waiting.shift();
        if (!this.#loaded.has(head.pool)) {
          this.#turnBegan = this.#now();
        }
        this.#loaded.set(head.pool, (this.#loaded.get(head.pool) ?? 0) + 1);
        head.enter();
      }
    } finally {
      this.#isMakingRoom = false;
    }
  }

  /** Unloads idle pools that are in the way. Returns false while the working ones leave too little memory. */
  async #makeRoom(pool: string): Promise<boolean> {
    while (this.#fitsBeside(pool, (runs) => runs > 0) && !this.#fitsBeside(pool, () => true)) {
      const [idle] = this.#working.find(([other, runs]) => other !== pool && runs === 0) ?? [];
      if (idle === undefined) {
        return false;
      }
      try {
        await this.#parts.free(idle, this.#shares.get(pool) ?? 0);
      } catch (error) {
        // what an unresponsive server still holds is unknown: its process is being restarted, or the next run will find out
        this.#parts.log.warn({ error, pool: idle }, 'an engine did not free its memory for another one');
      }
      this.#loaded.delete(idle);
    }
    return this.#fitsBeside(pool, () => true);
  }
}
