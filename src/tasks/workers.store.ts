import type pg from 'pg';
import { VERSION } from '../lib/version.ts';
import { run } from '../store/statement.ts';
import { WORKER_SILENT_MS } from './task-dispatch.store.ts';
import { misconfiguredPools, removeWorker, reportWorker } from './workers.sql.ts';

/** What a worker process reports with every heartbeat. */
export interface WorkerReport {
  /** Host and process. */
  readonly worker: string;
  readonly queues: readonly string[];
  /** Pools whose engine is away from this worker, or misconfigured. */
  readonly resting: readonly string[];
  /** Those of them whose engine refuses every run until an operator fixes it. */
  readonly misconfigured: readonly string[];
  /** Number of tasks it has claimed. */
  readonly running: number;
  /** Why it takes no work; null when it does. */
  readonly draining: 'operator' | 'notice' | null;
}

/** The worker processes of this installation, as they report themselves. */
export class WorkersStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Stores a report. Returns whether an operator has drained the worker's host. */
  async report(told: WorkerReport): Promise<boolean> {
    const { worker, queues, resting, running, draining, misconfigured } = told;
    const host = worker.replace(/\.[^.]*$/, '');
    const values = [worker, host, VERSION, queues, resting, running, draining, misconfigured];
    const [row] = await run<{ drained: boolean }>(this.#pool, reportWorker, values);
    return row?.drained ?? false;
  }

  /** Returns pools that no live worker serves because an operator has to fix their engines. */
  async misconfigured(): Promise<ReadonlySet<string>> {
    const rows = await run<{ pool: string }>(this.#pool, misconfiguredPools, [WORKER_SILENT_MS]);
    return new Set(rows.map(({ pool }) => pool));
  }

  /** Removes a worker that shuts down cleanly. */
  async remove(worker: string): Promise<void> {
    await run(this.#pool, removeWorker, [worker]);
  }
}
