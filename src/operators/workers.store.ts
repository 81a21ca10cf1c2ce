import type pg from 'pg';
import type { AuditedAct } from '../ledger/ledger.types.ts';
import { jsonParameter, run } from '../store/statement.ts';
import { WORKER_SILENT_MS } from '../tasks/task-dispatch.store.ts';
import { drainHost, listWorkers, resumeHost } from './workers.sql.ts';

/** A live worker process or, without `worker`, a drained host that has none. */
export interface WorkerRow {
  readonly host: string;
  readonly worker: string | null;
  readonly version: string | null;
  readonly queues: readonly string[] | null;
  readonly resting: readonly string[] | null;
  readonly misconfigured: readonly string[] | null;
  readonly running: number | null;
  readonly draining: 'operator' | 'notice' | null;
  readonly started_at: Date | null;
  readonly seen_at: Date | null;
  readonly drained_by: string | null;
  readonly drained_at: Date | null;
}

/** Worker hosts, as operators see and drain them. */
export class HostsStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Lists the workers of one host, or of all. */
  async list(host: string | null = null): Promise<WorkerRow[]> {
    return await run<WorkerRow>(this.#pool, listWorkers, [WORKER_SILENT_MS, host]);
  }

  /** Drains a host. Does and records nothing if it was already drained. */
  async drain(host: string, act: AuditedAct): Promise<void> {
    await run(this.#pool, drainHost, [host, act.actor, jsonParameter(act)]);
  }

  /** Resumes a host. Does and records nothing if it was not drained. */
  async resume(host: string, act: AuditedAct): Promise<void> {
    await run(this.#pool, resumeHost, [host, jsonParameter(act)]);
  }
}
