import { Counter, Gauge, type Registry } from 'prom-client';
import type { RateDimension } from '../http/limits/rate-policy.ts';
import { VERSION } from '../lib/version.ts';
import type { Database } from '../store/database.ts';
import type { DatabaseWatch } from '../store/database-watch.ts';
import { poolCounts } from '../store/pool-counts.ts';

/** Registers the gauge that names the running version and its Node version; its value is always 1. */
export function registerBuildInfo(registry: Registry): void {
  new Gauge({
    name: 'tollgate_build_info',
    help: 'Version of this process and of the Node that runs it; always 1',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version: VERSION, node: process.version }, 1);
}

/** Registers the gauges of this process's connection pools, read at scrape time. */
export function registerPoolGauges(registry: Registry, database: Database): void {
  new Gauge({
    name: 'tollgate_database_connections',
    help: 'Connections by pool: total, idle, and callers waiting for one',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, counts] of Object.entries(poolCounts(database))) {
        for (const [state, count] of Object.entries(counts)) {
          this.set({ pool, state }, count);
        }
      }
    },
  });
}

/** Registers the gauges of the last database check, read at scrape time. */
export function registerDatabaseGauges(registry: Registry, watch: Pick<DatabaseWatch, 'state'>): void {
  new Gauge({
    name: 'tollgate_database_writable',
    help: 'Whether the database was a writable primary, and both pools were connected to it, within the last 15 seconds',
    registers: [registry],
    collect() {
      const { writable, pools } = watch.state;
      this.set(writable && pools ? 1 : 0);
    },
  });
  new Gauge({
    name: 'tollgate_clock_skew_seconds',
    help: "This host's clock minus the database's",
    registers: [registry],
    collect() {
      const { skewMs } = watch.state;
      if (skewMs === undefined) {
        this.remove();
      } else {
        this.set(skewMs / 1_000);
      }
    },
  });
}

/** Registers the gauge of whether Redis accepts everything it is used for, read at scrape time. */
export function registerRedisGauge(registry: Registry, watch: { readonly isUsable: boolean }): void {
  new Gauge({
    name: 'tollgate_redis_usable',
    help: 'Whether Redis accepted a write, a script and a message within the last 15 seconds',
    registers: [registry],
    collect() {
      this.set(watch.isUsable ? 1 : 0);
    },
  });
}

/** Registers the gauge of whether this process can use the media storage, asked for at scrape time. */
export function registerStorageUsable(registry: Registry, isUsable: () => Promise<boolean>): void {
  new Gauge({
    name: 'tollgate_storage_usable',
    help: 'Whether this process can read and write the media storage',
    registers: [registry],
    async collect() {
      this.set((await isUsable()) ? 1 : 0);
    },
  });
}

/** Registers the gauge of attempts whose files wait for the storage, read at scrape time. */
export function registerStorageGauge(registry: Registry, patience: { readonly waiting: number }): void {
  new Gauge({
    name: 'tollgate_storage_waiting',
    help: 'Files of finished work that wait in the scratch folder because the storage is unavailable',
    registers: [registry],
    collect() {
      this.set(patience.waiting);
    },
  });
}

export type RateDecisionObserver = (store: 'shared' | 'local', refused: RateDimension | null) => void;

/** Counts the rate limiter's decisions, and whether they were made in Redis or in this process. */
export function createRateMetrics(registry: Registry): RateDecisionObserver {
  const decisions = new Counter({
    name: 'tollgate_rate_limit_decisions_total',
    help: 'Decisions of the rate limiter: `allowed`, or the exhausted dimension; `local` while Redis is unavailable',
    labelNames: ['decision', 'store'],
    registers: [registry],
  });
  return (store, refused) => decisions.inc({ decision: refused ?? 'allowed', store });
}
