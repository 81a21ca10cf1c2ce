import type pg from 'pg';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { cachedReading } from '../lib/cached-reading.ts';
import type { Logger } from '../lib/logger.ts';
import { run } from '../store/statement.ts';
import type { LaneObserver } from './commit-lane.ts';
import { sqlState } from './failure-kind.ts';
import type { PostgresLedger } from './ledger.engine.ts';
import { latestChecks } from './ledger-checks.sql.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const ITEMS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Counts what the lanes do, and logs what a human must see. */
export function createLaneObserver(registry: Registry, log: Logger): LaneObserver {
  const shared = { labelNames: ['lane'] as const, registers: [registry] };
  const batches = new Histogram({
    ...shared,
    name: 'tollgate_ledger_batch_items',
    help: 'Items committed by one statement',
    buckets: ITEMS,
  });
  const duration = new Histogram({
    ...shared,
    name: 'tollgate_ledger_batch_duration_seconds',
    help: 'Duration of one statement, including the commit',
    buckets: SECONDS,
  });
  const wait = new Histogram({
    ...shared,
    name: 'tollgate_ledger_wait_seconds',
    help: 'Time the oldest item of a batch waited to be sent',
    buckets: SECONDS,
  });
  const failures = new Counter({
    name: 'tollgate_ledger_send_failures_total',
    help: 'Statements that failed and were sent again or taken apart, by SQLSTATE',
    labelNames: ['lane', 'state'],
    registers: [registry],
  });
  const quarantined = new Counter({
    ...shared,
    name: 'tollgate_ledger_quarantined_total',
    help: 'Items that the database rejects even alone; each is a bug',
  });
  return {
    batchSent: (lane, items, durationMs, oldestWaitMs) => {
      batches.observe({ lane }, items);
      duration.observe({ lane }, durationMs / 1_000);
      wait.observe({ lane }, oldestWaitMs / 1_000);
    },
    sendFailed: (lane, items, error) => {
      failures.inc({ lane, state: sqlState(error) ?? 'connection' });
      log.warn({ lane, items, error }, 'ledger statement failed');
    },
    itemQuarantined: (lane, error) => {
      quarantined.inc({ lane });
      log.error({ lane, error }, 'the database refuses a ledger item');
    },
  };
}

const CHECKS_READING = { freshMs: 10_000, timeoutMs: 2_000 };

interface CheckRow extends pg.QueryResultRow {
  readonly kind: string;
  readonly age_seconds: number;
  readonly violations: number;
}

/**
 * Registers gauges of the last checks of the books, whichever process ran them; read at scrape time. They have no value while the
 * database does not answer, because the scrape itself must not fail then.
 */
export function registerCheckGauges(registry: Registry, pool: pg.Pool): void {
  const read = cachedReading(() => run<CheckRow>(pool, latestChecks, []), CHECKS_READING);
  new Gauge({
    name: 'tollgate_ledger_violations',
    help: 'Invariant violations found by the newest check of each kind; any value but 0 needs a human',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      const rows = await read();
      this.reset();
      for (const { kind, violations } of rows ?? []) {
        this.set({ kind }, violations);
      }
    },
  });
  new Gauge({
    name: 'tollgate_ledger_check_age_seconds',
    help: 'Time since the newest check of each kind',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      const rows = await read();
      this.reset();
      for (const { kind, age_seconds } of rows ?? []) {
        this.set({ kind }, age_seconds);
      }
    },
  });
}

/** Registers gauges of this process's lanes and holds, read at scrape time. */
export function registerLedgerGauges(registry: Registry, ledger: PostgresLedger): void {
  new Gauge({
    name: 'tollgate_ledger_lane_depth',
    help: 'Items waiting to be committed',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.set({ kind: 'reserve' }, ledger.depth.reserve);
      this.set({ kind: 'settle' }, ledger.depth.settle);
    },
  });
  new Gauge({
    name: 'tollgate_ledger_live_holds',
    help: 'Holds of calls that are running in this process',
    registers: [registry],
    collect() {
      this.set(ledger.liveHolds);
    },
  });
}
