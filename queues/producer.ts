import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { type JobContract, jobOptions } from './define-job.ts';
import { FETCH_LIMIT } from './fetch-limit.ts';
import { queuePrefix } from './queue-name.ts';

export interface ProducerSettings {
  /** Prefix of every name in Redis. */
  readonly prefix: string;
}

/** Redis failed or did not answer in time. A command that timed out may still take effect. */
export class QueueUnavailableError extends Error {
  override readonly name = 'QueueUnavailableError';
}

/** Puts jobs into queues and reads how full they are. Owns its queues, not the connection. */
export class Producer {
  readonly #connection: Redis;
  readonly #settings: ProducerSettings;
  readonly #queues = new Map<string, Queue>();

  constructor(connection: Redis, settings: ProducerSettings) {
    this.#connection = connection;
    this.#settings = settings;
  }

  /**
   * Adds one job per payload; leaves a job whose id already exists as it is. Throws QueueUnavailableError when Redis is away, and
   * Redis's own error when it goes away meanwhile (some of the jobs may then have been added).
   */
  async addAll<Payload>(
    queue: string,
    contract: JobContract<string, Payload>,
    payloads: readonly Payload[],
  ): Promise<void> {
    const jobs = payloads.map((payload) => ({
      name: contract.name,
      data: contract.payload.parse(payload),
      opts: jobOptions(contract, payload),
    }));
    await this.queue(queue).addBulk(jobs);
  }

  /** Returns how many jobs of the queue no worker has taken yet. Throws like {@link addAll}. */
  async waiting(queue: string): Promise<number> {
    return await this.queue(queue).getWaitingCount();
  }

  /** Keeps every worker of the queue from taking jobs for that many milliseconds. Throws like {@link addAll}. */
  async pauseFor(queue: string, milliseconds: number): Promise<void> {
    await this.queue(queue).rateLimit(Math.max(1, Math.ceil(milliseconds)));
  }

  /**
   * Returns for how many ms the queue's workers still take no jobs after {@link pauseFor}; 0 when they take them. Throws like
   * {@link addAll}.
   */
  async restingMs(queue: string): Promise<number> {
    return Math.max(0, await this.queue(queue).getRateLimitTtl(FETCH_LIMIT.max));
  }

  /** Returns the BullMQ queue itself, for schedulers and the operator's board. Throws QueueUnavailableError when Redis is away. */
  queue(name: string): Queue {
    if (this.#connection.status !== 'ready') {
      throw new QueueUnavailableError(`the Redis connection is ${this.#connection.status}`);
    }
    const known = this.#queues.get(name);
    if (known) {
      return known;
    }
    const queue = new Queue(name, {
      connection: this.#connection,
      prefix: queuePrefix(this.#settings.prefix, name),
      skipWaitingForReady: true,
      streams: { events: { maxLen: 1_000 } },
    });
    // Failures reach the caller of each method. The event only repeats them, and without a listener it would end the process.
    queue.on('error', () => undefined);
    this.#queues.set(name, queue);
    return queue;
  }

  /** Closes the queues. */
  async close(): Promise<void> {
    const queues = [...this.#queues.values()];
    this.#queues.clear();
    await Promise.allSettled(queues.map((queue) => queue.close()));
  }
}
