import type { Sequelize } from 'sequelize';
import { idAt } from '../../lib/ids.ts';
import { readRows } from '../../store/report.ts';
import { WORKER_SILENT_MS } from '../../tasks/task-dispatch.store.ts';
import { paceOfPools, providersLately, silentWorkers } from './fleet.sql.ts';

export interface SilentWorkerRow {
  readonly worker: string;
  readonly seen_at: Date;
  /** Tasks that it is working on. */
  readonly tasks: number;
}

export interface ProviderRow {
  readonly provider: string;
  readonly model: string;
  readonly attempts: number;
  readonly failed: number;
  readonly attempts_just_now: number;
  readonly failed_just_now: number;
  readonly latency_p50: number | null;
  readonly latency_p95: number | null;
  readonly failures: Record<string, number>;
  readonly last_failed_at: Date | null;
  readonly last_said: string | null;
}

/** How fast a pool finishes tasks. */
export interface PaceRow {
  readonly pool: string;
  /** Started tasks that ended recently, whatever their outcome. */
  readonly ended: number;
  /** Time during which at least one task was running. */
  readonly busy_seconds: number;
}

const HOUR_MS = 3_600_000;
/** Window for measuring the pace, in ms: long enough for videos, short enough to follow workers that come or go. */
const PACE_MS = 900_000;
/** Maximum number of recent tasks used to measure the pace. */
const TASKS_MAX = 5_000;
const JUST_NOW_MS = 300_000;
/**
 * Maximum number of recent calls used to judge health: a busy installation has more in an hour, but they would not change the
 * picture.
 */
const CALLS_MAX = 20_000;

/** Reads the state of workers and providers from the database. */
export class FleetReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Lists workers that stopped reporting but still have tasks. */
  silentWorkers(): Promise<SilentWorkerRow[]> {
    return readRows<SilentWorkerRow>(this.#sequelize, silentWorkers, [WORKER_SILENT_MS]);
  }

  /** Returns the pace of each pool over the last {@link PACE_MS}. Pools without a task in that window have no row. */
  paces(): Promise<PaceRow[]> {
    return readRows<PaceRow>(this.#sequelize, paceOfPools, [PACE_MS, TASKS_MAX]);
  }

  /** Returns attempts of the calls of the last hour, at most {@link CALLS_MAX} calls, by provider and model. */
  providers(nowMs: number): Promise<ProviderRow[]> {
    const since = [idAt(nowMs - HOUR_MS), CALLS_MAX, new Date(nowMs - JUST_NOW_MS)];
    return readRows<ProviderRow>(this.#sequelize, providersLately, since);
  }
}
