import type { Sequelize } from 'sequelize';
import { readRows } from '../store/report.ts';
import { WORKER_SILENT_MS } from '../tasks/task-dispatch.store.ts';
import { queueStandings } from './queues.sql.ts';

/** What waits in the database for a queue, and who takes it. */
export interface QueueStanding {
  /** Tasks or deliveries, whether they have been handed to the queue or not. */
  readonly backlog: number;
  /** Age of the oldest of them; null where none waits. */
  readonly oldest_seconds: number | null;
  /** Live worker processes that take its jobs now. */
  readonly workers: number;
  /** Jobs they run at once. */
  readonly slots: number;
}

const NOTHING: QueueStanding = { backlog: 0, oldest_seconds: null, workers: 0, slots: 0 };

/** What the database knows of the queues. Throws while it is away. */
export class QueuesReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Tells the standing of a queue by its name. */
  async standings(): Promise<(queue: string) => QueueStanding> {
    const rows = await readRows<QueueStanding & { queue: string }>(this.#sequelize, queueStandings, [
      WORKER_SILENT_MS,
    ]);
    const byQueue = new Map(rows.map(({ queue, ...standing }) => [queue, standing]));
    return (queue) => byQueue.get(queue) ?? NOTHING;
  }
}
