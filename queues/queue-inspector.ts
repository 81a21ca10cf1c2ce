import type { Producer } from './producer.ts';
import { withinTime } from './within-time.ts';

/** The current content of a queue. Rows that still wait in the database are not in it yet. */
export interface QueueState {
  readonly name: string;
  readonly paused: boolean;
  /** Ms for which the queue still rests because an upstream asked for it; 0 when it does not. */
  readonly restingMs: number;
  readonly jobs: {
    readonly waiting: number;
    readonly active: number;
    readonly delayed: number;
    readonly completed: number;
    readonly failed: number;
  };
}

const ANSWER_WITHIN_MS = 2_000;

/** Reads and pauses the queues of this installation. Every method throws QueueUnavailableError within two seconds. */
export class QueueInspector {
  readonly #producer: Producer;
  readonly #names: () => readonly string[];

  /** `names` returns the existing queues, which change with the catalog. */
  constructor(producer: Producer, names: () => readonly string[]) {
    this.#producer = producer;
    this.#names = names;
  }

  /** Returns every queue, in the order of the catalog. */
  list(): Promise<QueueState[]> {
    return withinTime(() => Promise.all(this.#names().map((name) => this.#read(name))), ANSWER_WITHIN_MS);
  }

  /** Returns the state of one queue; undefined when no queue has that name. */
  async find(name: string): Promise<QueueState | undefined> {
    return this.#names().includes(name)
      ? await withinTime(() => this.#read(name), ANSWER_WITHIN_MS)
      : undefined;
  }

  /** Stops workers from taking jobs until {@link resume}. Returns false when there is no such queue. */
  pause(name: string): Promise<boolean> {
    return this.#change(name, async () => await this.#producer.queue(name).pause());
  }

  /** Undoes {@link pause}. Returns false when there is no such queue. */
  resume(name: string): Promise<boolean> {
    return this.#change(name, async () => await this.#producer.queue(name).resume());
  }

  async #change(name: string, change: () => Promise<void>): Promise<boolean> {
    if (!this.#names().includes(name)) {
      return false;
    }
    await withinTime(change, ANSWER_WITHIN_MS);
    return true;
  }

  async #read(name: string): Promise<QueueState> {
    const queue = this.#producer.queue(name);
    const [counts, paused, restingMs] = await Promise.all([
      queue.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed'),
      queue.isPaused(),
      this.#producer.restingMs(name),
    ]);
    const { waiting = 0, active = 0, delayed = 0, completed = 0, failed = 0 } = counts;
    return {
      name,
      paused,
      restingMs,
      jobs: { waiting, active, delayed, completed, failed },
    };
  }
}
