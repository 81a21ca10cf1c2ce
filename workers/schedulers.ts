import type { Queue } from 'bullmq';
import { JOBS, type JobName } from '../queues/catalog.ts';
import type { Producer } from '../queues/producer.ts';
import { queueName } from '../queues/queue-name.ts';
import { every, type Loop } from '../src/lib/every.ts';

type ChoreName = Extract<JobName, `maintenance.${string}`>;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Ms between two runs of each chore, across all workers. */
const CADENCE_MS: Readonly<Record<ChoreName, number>> = {
  'maintenance.sweep-tasks': 5 * SECOND_MS,
  'maintenance.tell-alerts': 5 * SECOND_MS,
  'maintenance.move-tasks': 2 * SECOND_MS,
  'maintenance.reap-holds': 5 * SECOND_MS,
  'maintenance.expire-media': MINUTE_MS,
  'maintenance.expire-tasks': 5 * MINUTE_MS,
  'maintenance.sweep-orphans': HOUR_MS,
  'maintenance.make-partitions': 6 * HOUR_MS,
  'maintenance.close-months': HOUR_MS,
  'maintenance.roll-up-days': 5 * MINUTE_MS,
  'maintenance.verify-new-entries': MINUTE_MS,
  'maintenance.follow-payments': MINUTE_MS,
  'maintenance.follow-payment-moves': HOUR_MS,
  'maintenance.expire-idempotency-keys': HOUR_MS,
  'maintenance.forget-keys': HOUR_MS,
  'maintenance.verify-ledger': 24 * HOUR_MS,
};
/** Ms between checks that the schedule still exists: Redis may have lost it. */
const CHECK_MS = 2 * SECOND_MS;

/** Keeps the schedule of chores in Redis for as long as the process runs. */
export class ChoreSchedule {
  readonly #producer: Producer;
  readonly #onError: (error: unknown) => void;
  readonly #loop: Loop;

  /** Starts at once. */
  constructor(producer: Producer, onError: (error: unknown) => void) {
    this.#producer = producer;
    this.#onError = onError;
    this.#loop = every(CHECK_MS, () => this.#check());
    void this.#loop.runNow();
  }

  /** Stops checking; the schedule stays for the other workers. */
  async close(): Promise<void> {
    await this.#loop.close();
  }

  async #check(): Promise<void> {
    try {
      const queue = this.#producer.queue(queueName('maintenance'));
      const chores = Object.entries(CADENCE_MS) as [ChoreName, number][];
      if ((await queue.getJobSchedulersCount()) < chores.length) {
        for (const [name, every] of chores) {
          await schedule(queue, name, every);
        }
      }
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** Writes a schedule. Every worker that finds it missing does so; the shared id keeps it a single one. */
async function schedule(queue: Queue, name: ChoreName, every: number): Promise<void> {
  const { keepCompleted, keepFailed } = JOBS[name];
  await queue.upsertJobScheduler(
    name,
    { every },
    {
      name,
      data: {},
      opts: {
        // chores that start together may contend for a lock, and the next regular run can be a day away
        attempts: 3,
        backoff: { type: 'exponential', delay: 2_000 },
        removeOnComplete: { age: keepCompleted.ageSeconds, count: keepCompleted.count },
        removeOnFail: { age: keepFailed.ageSeconds, count: keepFailed.count },
      },
    },
  );
}
