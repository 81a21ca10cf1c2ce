import type { ChaosScenario } from './scenario.types.ts';
import { killedProcesses } from './scenarios/a1-killed-processes.ts';
import { pointsOfDeath } from './scenarios/a2-points-of-death.ts';
import { lostReplies } from './scenarios/a3-lost-replies.ts';
import { killedPostgres } from './scenarios/a5-killed-postgres.ts';
import { frozenPostgres } from './scenarios/a6-frozen-postgres.ts';
import { movedPostgres } from './scenarios/a7-moved-postgres.ts';
import { slowPostgres } from './scenarios/a8-slow-postgres.ts';
import { lostQueues } from './scenarios/b1-lost-queues.ts';
import { redisAway } from './scenarios/b2-redis-away.ts';
import { frozenWorker } from './scenarios/b3-frozen-worker.ts';
import { movedRedis } from './scenarios/b4-moved-redis.ts';
import { storageAway } from './scenarios/b5-storage-away.ts';
import { slowRedis } from './scenarios/b6-slow-redis.ts';
import { exactBalance } from './scenarios/c1-exact-balance.ts';
import { loweredLimit } from './scenarios/c2-lowered-limit.ts';
import { revokedKey } from './scenarios/c3-revoked-key.ts';
import { leavingClients } from './scenarios/d1-leaving-clients.ts';
import { brokenProvider } from './scenarios/d3-broken-provider.ts';
import { overload } from './scenarios/d4-overload.ts';
import { slowClients } from './scenarios/d5-slow-clients.ts';
import { neighbours } from './scenarios/d6-neighbors.ts';
import { killedCheckout } from './scenarios/e2-killed-checkout.ts';
import { monthEnd } from './scenarios/e3-month-end.ts';
import { wrongClock } from './scenarios/f1-wrong-clock.ts';
import { rollingRestart } from './scenarios/f2-rolling-restart.ts';
import { fullDisk } from './scenarios/f3-full-disk.ts';
import {
  behindCaddy,
  behindEnvoy,
  behindHaproxy,
  behindNginx,
  behindTraefik,
} from './scenarios/g-behind-proxies.ts';
import { engineAway } from './scenarios/h1-engine-away.ts';
import { hostWithoutEngine } from './scenarios/h2-host-without-engine.ts';
import { drainedHost } from './scenarios/h3-drained-host.ts';
import { remoteWorker } from './scenarios/h4-remote-worker.ts';

/** All scenarios, in the order of the table. */
export const SCENARIOS: readonly ChaosScenario[] = [
  killedProcesses,
  pointsOfDeath,
  lostReplies,
  killedPostgres,
  frozenPostgres,
  movedPostgres,
  slowPostgres,
  lostQueues,
  redisAway,
  frozenWorker,
  movedRedis,
  storageAway,
  slowRedis,
  exactBalance,
  loweredLimit,
  revokedKey,
  leavingClients,
  brokenProvider,
  overload,
  slowClients,
  neighbours,
  killedCheckout,
  monthEnd,
  wrongClock,
  rollingRestart,
  fullDisk,
  behindNginx,
  behindHaproxy,
  behindCaddy,
  behindTraefik,
  behindEnvoy,
  engineAway,
  hostWithoutEngine,
  drainedHost,
  remoteWorker,
];
