import type { Producer } from './producer.ts';
import { withinTime } from './within-time.ts';

/** What a queue holds at this moment. A row that waits in the database is not in it yet. */
export interface QueueState {
  readonly name: string;
  readonly paused: boolean;
  /** Ms the queue still pauses because an upstream asked for it; 0 = not at all. */
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

  /** `names`: the queues there are, which changes with the catalog. */
  constructor(producer: Producer, names: () => readonly string[]) {
    this.#producer = producer;
    this.#names = names;
  }

  /** Every queue, in the order of the catalog. */
  list(): Promise<QueueState[]> {
    return withinTime(() => Promise.all(this.#names().map((name) => this.#read(name))), ANSWER_WITHIN_MS);
  }

  /** The state of one queue; undefined when there is none of that name. */
  async find(name: string): Promise<QueueState | undefined> {
    return this.#names().includes(name)
      ? await withinTime(() => this.#read(name), ANSWER_WITHIN_MS)
      : undefined;
  }

  /** Keeps workers from taking jobs until {@link resume}. False when there is no such queue. */
  pause(name: string): Promise<boolean> {
    return this.#change(name, async () => await this.#producer.queue(name).pause());
  }

  /** The inverse of {@link pause}. False when there is no such queue. */
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
