import { Counter, Gauge, type Registry } from 'prom-client';
import type { RateDimension } from '../http/rate-policy.ts';
import type { Database } from '../store/database.ts';
import { poolCounts } from '../store/pool-counts.ts';

/** Connections of this process's pools, read at scrape time. */
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

export type RateDecisionObserver = (store: 'shared' | 'local', refused: RateDimension | null) => void;

/** Counts what the rate limiter decided, and whether Redis or the process by itself did. */
export function createRateMetrics(registry: Registry): RateDecisionObserver {
  const decisions = new Counter({
    name: 'tollgate_rate_limit_decisions_total',
    help: 'Decisions of the rate limiter: `allowed`, or the exhausted dimension; `local` while Redis is away',
    labelNames: ['decision', 'store'],
    registers: [registry],
  });
  return (store, refused) => decisions.inc({ decision: refused ?? 'allowed', store });
}
