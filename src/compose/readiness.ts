import { migrationNames } from '../../migrations/catalog.ts';
import { functionFiles } from '../../migrations/functions.ts';
import type { RedisWatch } from '../../queues/redis-watch.ts';
import type { ReadinessReport } from '../http/openapi/meta.routes.ts';
import { cachedReading } from '../lib/cached-reading.ts';
import { inTimeOrUndefined } from '../lib/deadline.ts';
import { run } from '../store/statement.ts';
import type { Foundation } from './foundation.ts';
import { missingFunctions, missingMigrations } from './readiness.sql.ts';

const ANSWER_WITHIN_MS = 500;
/** How long a check of the storage counts, in ms: load balancers ask often, and a bucket is a request away. */
const STORAGE_FRESH_MS = 1_000;
/** Maximum clock skew, in ms. With more, signatures and expiry times of one host would be wrong on another. */
const SKEW_MS_MAX = 60_000;
/** Maximum depth of the settle lane. A deeper one means that the database cannot keep up: new calls would only wait. */
const SETTLE_DEPTH_MAX = 2_000;

export interface Readiness {
  check(): Promise<ReadinessReport>;
  isStorageUsable(): Promise<boolean>;
  shutDown(): void;
}

/**
 * Creates the check whether this process should get requests: the database is reachable and writable, both pools are connected to the same
 * server, the schema is current, clocks agree, the settle lane keeps up, and the process is not shutting down. It is ready without Redis and
 * without the storage: calls need neither, and finished tasks wait for them.
 */
export function composeReadiness(
  { cells, databaseWatch, ledger, checkStorage }: Foundation,
  redis: Pick<RedisWatch, 'isUsable'>,
): Readiness {
  let leaving = false;
  const files = functionFiles();
  const functions = [files.map((file) => file.name), files.map((file) => file.checksum)];
  // in this order: the second statement reads a table created by one of the migrations that the first checks
  const schema = async () =>
    (await run(cells.home.money, missingMigrations, [migrationNames()])).length === 0 &&
    (await run(cells.home.money, missingFunctions, functions)).length === 0;
  const readStorage = cachedReading(oneAtATime(checkStorage), {
    freshMs: STORAGE_FRESH_MS,
    timeoutMs: ANSWER_WITHIN_MS,
  });
  const isStorageUsable = async () => (await readStorage()) ?? false;
  return {
    isStorageUsable,
    check: async () => {
      const [current, storage] = await Promise.all([
        inTimeOrUndefined(schema(), ANSWER_WITHIN_MS),
        isStorageUsable(),
      ]);
      const { writable, pools, skewMs = 0 } = databaseWatch.state;
      return {
        checks: {
          database: current !== undefined,
          writable,
          pools,
          clock: Math.abs(skewMs) <= SKEW_MS_MAX,
          migrations: current === true,
          lanes: ledger.depth.settle < SETTLE_DEPTH_MAX,
          accepting: !leaving,
        },
        optional: { redis: redis.isUsable, storage },
      };
    },
    shutDown: () => {
      leaving = true;
    },
  };
}

/** Joins the check in flight: on a network disk that hangs, each further one would occupy another thread of the process for good. */
function oneAtATime(check: () => Promise<void>): () => Promise<true> {
  let inFlight: Promise<true> | undefined;
  return () => {
    inFlight ??= check()
      .then(() => true as const)
      .finally(() => {
        inFlight = undefined;
      });
    return inFlight;
  };
}
