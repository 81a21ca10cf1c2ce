import type { Worker } from 'bullmq';
import type { Producer } from '../queues/producer.ts';
import { every, type Loop } from '../src/lib/every.ts';

export interface LivenessSettings {
  /** Ms that jobs may wait while a slot is free before the worker counts as stuck: connected, but fetching nothing. */
  readonly stuckAfterMs: number;
  readonly checkMs: number;
}

export const LIVENESS_SETTINGS: LivenessSettings = { stuckAfterMs: 60_000, checkMs: 10_000 };

interface WatchedWorker {
  readonly worker: Worker;
  active: number;
  /** Since when jobs have been waiting here although a slot is free; undefined while all is well. */
  stuckSince: number | undefined;
}

/**
 * Detects workers that are connected but fetch nothing, as has happened after reconnects (bullmq #2964, #3185). Only a new process
 * helps, so `onStuck` should end this one.
 */
export class Liveness {
  readonly #producer: Producer;
  readonly #onStuck: (queue: string) => void;
  readonly #settings: LivenessSettings;
  readonly #watched: WatchedWorker[];
  readonly #loop: Loop;

  constructor(
    workers: readonly Worker[],
    producer: Producer,
    onStuck: (queue: string) => void,
    settings: LivenessSettings = LIVENESS_SETTINGS,
  ) {
    this.#producer = producer;
    this.#onStuck = onStuck;
    this.#settings = settings;
    this.#watched = workers.map((worker) => watch(worker));
    this.#loop = every(settings.checkMs, () => this.#check());
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #check(): Promise<void> {
    for (const watched of this.#watched) {
      try {
        await this.#inspect(watched);
      } catch {
        // Redis is away: no worker can fetch, and the connections recover by themselves.
        watched.stuckSince = undefined;
      }
    }
  }

  async #inspect(watched: WatchedWorker): Promise<void> {
    const { worker } = watched;
    const queue = this.#producer.queue(worker.name);
    const isFree = !worker.isPaused() && watched.active < worker.concurrency;
    const expected = isFree && (await queue.getWaitingCount()) > 0;
    if (!expected || (await this.#producer.restingMs(worker.name)) > 0 || (await queue.isPaused())) {
      watched.stuckSince = undefined;
      return;
    }
    watched.stuckSince ??= performance.now();
    if (performance.now() - watched.stuckSince >= this.#settings.stuckAfterMs) {
      this.#onStuck(worker.name);
    }
  }
}

function watch(worker: Worker): WatchedWorker {
  const watched: WatchedWorker = { worker, active: 0, stuckSince: undefined };
  const finished = (): void => {
    watched.active = Math.max(0, watched.active - 1);
  };
  worker.on('active', () => {
    watched.active += 1;
    watched.stuckSince = undefined;
  });
  worker.on('completed', finished);
  worker.on('failed', finished);
  return watched;
}
