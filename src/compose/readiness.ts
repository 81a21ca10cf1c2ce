import { functionFiles } from '../../migrations/functions.ts';
import { migrationNames } from '../../migrations/migrate.ts';
import type { RedisWatch } from '../../queues/redis-watch.ts';
import type { ReadinessReport } from '../http/openapi/meta.routes.ts';
import { inTimeOrUndefined } from '../lib/deadline.ts';
import { run } from '../store/statement.ts';
import type { Foundation } from './foundation.ts';
import { missingFunctions, missingMigrations } from './readiness.sql.ts';

const ANSWER_WITHIN_MS = 500;
/** Hosts whose clocks differ by more would sign and expire things at each other's cost. */
const SKEW_MS_MAX = 60_000;
/** A settle lane this deep means the database does not keep up: new calls would only wait. */
const SETTLE_DEPTH_MAX = 2_000;

export interface Readiness {
  check(): Promise<ReadinessReport>;
  shutDown(): void;
}

/**
 * Whether this process should get requests: database reachable and taking writes, both pools at the same server, schema current,
 * clocks together, lanes moving, not on its way out. Without Redis it still does.
 */
export function composeReadiness(
  { cells, databaseWatch, ledger }: Foundation,
  redis: Pick<RedisWatch, 'isUsable'>,
): Readiness {
  let leaving = false;
  const files = functionFiles();
  const functions = [files.map((file) => file.name), files.map((file) => file.checksum)];
  // the second table is made by a migration that the first statement asks for
  const schema = async () =>
    (await run(cells.home.money, missingMigrations, [migrationNames()])).length === 0 &&
    (await run(cells.home.money, missingFunctions, functions)).length === 0;
  return {
    check: async () => {
      const current = await inTimeOrUndefined(schema(), ANSWER_WITHIN_MS);
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
        optional: { redis: redis.isUsable },
      };
    },
    shutDown: () => {
      leaving = true;
    },
  };
}
