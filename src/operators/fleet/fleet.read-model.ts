import type { Sequelize } from 'sequelize';
import { idAt } from '../../lib/ids.ts';
import { readRows } from '../../store/report.ts';
import { WORKER_SILENT_MS } from '../../tasks/task-dispatch.store.ts';
import { paceOfPools, providersLately, silentWorkers } from './fleet.sql.ts';

export interface SilentWorkerRow {
  readonly worker: string;
  readonly seen_at: Date;
  /** That it works on. */
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

/** How fast a pool ends what it begins. */
export interface PaceRow {
  readonly pool: string;
  /** Tasks that a worker had begun and that ended lately, however they ended. */
  readonly ended: number;
  /** How long any task was at work meanwhile. */
  readonly busy_seconds: number;
}

const HOUR_MS = 3_600_000;
/** The pace is of these last minutes: long enough for videos, short enough to follow a worker that comes or goes. */
const PACE_MS = 900_000;
/** Newest tasks that the pace is read from. */
const TASKS_MAX = 5_000;
const JUST_NOW_MS = 300_000;
/** Newest calls that health is read from: an hour of a busy installation has more, and says the same. */
const CALLS_MAX = 20_000;

/** Workers and providers as the database knows them. */
export class FleetReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Workers that are not heard of any more and have tasks. */
  silentWorkers(): Promise<SilentWorkerRow[]> {
    return readRows<SilentWorkerRow>(this.#sequelize, silentWorkers, [WORKER_SILENT_MS]);
  }

  /** How fast each pool was in the last {@link PACE_MS}; pools without a task in them are not among the rows. */
  paces(): Promise<PaceRow[]> {
    return readRows<PaceRow>(this.#sequelize, paceOfPools, [PACE_MS, TASKS_MAX]);
  }

  /** Attempts of the calls of the last hour, at most {@link CALLS_MAX}, by provider and model. */
  providers(nowMs: number): Promise<ProviderRow[]> {
    const since = [idAt(nowMs - HOUR_MS), CALLS_MAX, new Date(nowMs - JUST_NOW_MS)];
    return readRows<ProviderRow>(this.#sequelize, providersLately, since);
  }
}
