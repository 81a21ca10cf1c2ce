import type { Worker } from 'bullmq';
import type { Producer } from '../queues/producer.ts';
import { every, type Loop } from '../src/lib/every.ts';

export interface LivenessSettings {
  /** Ms that jobs may wait while a slot is free before the worker counts as deaf: connected, but fetching nothing. */
  readonly deafAfterMs: number;
  readonly checkMs: number;
}

export const LIVENESS_SETTINGS: LivenessSettings = { deafAfterMs: 60_000, checkMs: 10_000 };

interface Ear {
  readonly worker: Worker;
  active: number;
  /** Since when jobs have been waiting here although a slot is free; undefined while all is well. */
  deafSince: number | undefined;
}

/**
 * Detects workers that are connected but fetch nothing, as has happened after reconnects (bullmq #2964, #3185). Only a new process
 * helps, so `onDeaf` should end this one.
 */
export class Liveness {
  readonly #producer: Producer;
  readonly #onDeaf: (queue: string) => void;
  readonly #settings: LivenessSettings;
  readonly #ears: Ear[];
  readonly #loop: Loop;

  constructor(
    workers: readonly Worker[],
    producer: Producer,
    onDeaf: (queue: string) => void,
    settings: LivenessSettings = LIVENESS_SETTINGS,
  ) {
    this.#producer = producer;
    this.#onDeaf = onDeaf;
    this.#settings = settings;
    this.#ears = workers.map((worker) => listenTo(worker));
    this.#loop = every(settings.checkMs, () => this.#check());
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #check(): Promise<void> {
    for (const ear of this.#ears) {
      try {
        await this.#listen(ear);
      } catch {
        // Redis is away: no worker can fetch, and the connections recover by themselves.
        ear.deafSince = undefined;
      }
    }
  }

  async #listen(ear: Ear): Promise<void> {
    const { worker } = ear;
    const queue = this.#producer.queue(worker.name);
    const isFree = !worker.isPaused() && ear.active < worker.concurrency;
    const expected = isFree && (await queue.getWaitingCount()) > 0;
    if (!expected || (await this.#producer.restingMs(worker.name)) > 0 || (await queue.isPaused())) {
      ear.deafSince = undefined;
      return;
    }
    ear.deafSince ??= performance.now();
    if (performance.now() - ear.deafSince >= this.#settings.deafAfterMs) {
      this.#onDeaf(worker.name);
    }
  }
}

function listenTo(worker: Worker): Ear {
  const ear: Ear = { worker, active: 0, deafSince: undefined };
  const finished = (): void => {
    ear.active = Math.max(0, ear.active - 1);
  };
  worker.on('active', () => {
    ear.active += 1;
    ear.deafSince = undefined;
  });
  worker.on('completed', finished);
  worker.on('failed', finished);
  return ear;
}
