import type { Sequelize } from 'sequelize';
import { readRows } from '../store/report.ts';
import { WORKER_SILENT_MS } from '../tasks/task-dispatch.store.ts';
import { queueStandings } from './queues.sql.ts';

/** What is waiting in the database for a queue, and the workers that serve it. */
export interface QueueBacklog {
  /** Waiting tasks or deliveries, dispatched to the queue or not. */
  readonly backlog: number;
  /** Age of the oldest of them; null if none is waiting. */
  readonly oldest_seconds: number | null;
  /** Live worker processes that currently take its jobs. */
  readonly workers: number;
  /** Jobs they can run at once. */
  readonly slots: number;
}

const NOTHING: QueueBacklog = { backlog: 0, oldest_seconds: null, workers: 0, slots: 0 };

/** Reads the state of the queues from the database. Throws while the database is unreachable. */
export class QueuesReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Returns a function that maps the name of a queue to its standing. */
  async standings(): Promise<(queue: string) => QueueBacklog> {
    const rows = await readRows<QueueBacklog & { queue: string }>(this.#sequelize, queueStandings, [
      WORKER_SILENT_MS,
    ]);
    const byQueue = new Map(rows.map(({ queue, ...standing }) => [queue, standing]));
    return (queue) => byQueue.get(queue) ?? NOTHING;
  }
}
