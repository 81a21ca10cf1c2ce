import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import type { Redis } from 'ioredis';
import { createProducerConnection, firstAttempt } from '../../queues/connection.ts';
import { requireDatabase } from '../../queues/inspect-redis.ts';
import { type RedisWatch, watchRedis } from '../../queues/redis-watch.ts';
import type { createApp } from '../app.ts';
import { followEngines } from '../catalog/engine-kinds.ts';
import { builtConsoleFolder } from '../console/static.pages.ts';
import { Authenticator } from '../http/callers/authenticator.ts';
import { KeyCache } from '../http/callers/key-cache.ts';
import { createHttpMetrics } from '../http/http-metrics.ts';
import { createAnswerCipher } from '../http/idempotency/answer-cipher.ts';
import { IdempotencyStore } from '../http/idempotency/idempotency.store.ts';
import { Idempotency } from '../http/idempotency/idempotency.ts';
import { BodyBytes } from '../http/input/body-bytes.ts';
import { FallbackRateStore } from '../http/limits/fallback-rate-store.ts';
import { MemoryRateStore } from '../http/limits/memory-rate-store.ts';
import { RateLimiter } from '../http/limits/rate-limiter.ts';
import { RedisRateStore } from '../http/limits/redis-rate-store.ts';
import type { RequestPipeline } from '../http/request-pipeline.ts';
import { WebSockets } from '../http/web-sockets/web-sockets.ts';
import { KeysService } from '../keys/keys.service.ts';
import { KeysStore } from '../keys/keys.store.ts';
import { LastUsedService } from '../keys/last-used.service.ts';
import { secretHash } from '../keys/secret.ts';
import { HoldReaper } from '../ledger/reaper.ts';
import { operatorBrowsers } from '../operators/board/operator-gate.ts';
import type { OperatorSessions } from '../operators/board/operator-session.ts';
import type { MetricsSource } from '../processes/api-slot.ts';
import { createRateMetrics, registerRedisGauge, registerStorageUsable } from '../telemetry/process-gauges.ts';
import { StateReadModel } from '../telemetry/state.read-model.ts';
import { registerStateGauges } from '../telemetry/state-gauges.ts';
import { type AdmissionParts, composeAdmission, withAdmission } from './admission.ts';
import { composeApplication } from './application.ts';
import { composeConsole, composeConsolePages, composeSessions } from './console.ts';
import type { Foundation } from './foundation.ts';
import { composeInvocation, type InvocationParts } from './invocation.ts';
import { composeMembers, type MemberParts, memberActs } from './members.ts';
import { composeOperatorSessions, composeOperators, type OperatorParts } from './operators.ts';
import { composeReadiness } from './readiness.ts';
import { composeRemoteWorkers, type RemoteWorkers } from './remote-workers.ts';
import { composeTaskRoutes } from './task-routes.ts';
import { checkWebhookSecrets, composeTasks, type TaskParts } from './tasks.ts';

const REAP_EVERY_MS = 5_000;

export interface Api {
  /** The application without admission control: it never rejects calls for lack of capacity. For tests on a busy machine. */
  readonly app: ReturnType<typeof createApp>;
  /** The application behind admission control: when more calls come than the process can handle, they start in turns. */
  readonly listener: RequestListener;
  /** Makes `/readyz` fail so that a load balancer sends no more requests. */
  announceShutdown(): void;
  /** Must be called for every connection that a server accepts. */
  connectionOpened(connection: Socket): void;
  /** The WebSockets of the process's servers; each server must be attached. */
  readonly webSockets: WebSockets;
  /** Lets running calls finish for up to `deadlineMs`, then ends and settles them at their metered usage. */
  drain(deadlineMs: number): Promise<void>;
  close(): Promise<void>;
}

interface Identity {
  readonly keysStore: KeysStore;
  readonly keyCache: KeyCache;
  readonly lastUsed: LastUsedService;
  readonly keys: KeysService;
  readonly operatorSessions: OperatorSessions;
}

export interface ApiSurroundings {
  /** Folder of the built web console. */
  readonly consoleFolder?: string | undefined;
  /** Source of `/metrics`; this process's own registry by default. */
  readonly metrics?: MetricsSource | undefined;
}

/** Assembles the API on its foundation. Throws RedisSettingsError if Redis is there but has no such database. */
export async function composeApi(
  foundation: Foundation,
  { consoleFolder = builtConsoleFolder(), metrics = foundation.registry }: ApiSurroundings = {},
): Promise<Api> {
  const { config, log } = foundation;
  const redis = composeRedis(foundation);
  const rates = composeRates(foundation, redis.connection);
  const identity = composeIdentity(foundation);
  const sessions = composeSessions(foundation, () => pipeline);
  const admission = composeAdmission(foundation);
  const tasks = composeTasks(foundation);
  const remote = composeRemoteWorkers(foundation, tasks);
  const pipeline = composePipeline(foundation, identity, {
    rates,
    sessions,
    workers: remote.door,
    ...admission,
  });
  const invocation = composeInvocation(foundation, admission.loopQueue, redis.connection);
  const readiness = composeReadiness(foundation, redis.watch);
  const engines = followEngines(config, foundation.catalogSource);
  const operators = composeOperators(foundation, {
    ...identity,
    authenticator: pipeline.authenticator,
    ledger: foundation.ledger,
    circuits: invocation.circuits,
  });
  const people = await composeMembers(foundation, sessions, identity, operators.admitClaimed);
  const console = composeConsole(foundation, sessions, identity.keys, people);
  registerStorageUsable(foundation.registry, readiness.isStorageUsable);
  registerStateGauges(foundation.registry, new StateReadModel(foundation.cells));
  const paidRoutes = [
    ...invocation.routes,
    ...composeTaskRoutes(foundation, tasks, redis.connection, engines),
  ];
  const parts = { invocation, tasks, remote, identity, engines, operators, rates, redis, console, people };
  const consolePages = composeConsolePages(config, consoleFolder, people);
  const app = composeApplication(foundation, pipeline, paidRoutes, {
    ...parts,
    readiness,
    metrics,
    consolePages,
  });
  checkWebhookSecrets(foundation, tasks);
  await Promise.all([redis.connection, operators.redis].map(firstAttempt));
  await requireDatabase(redis.connection);
  const webSockets = new WebSockets({
    ...{ pipeline, routes: paidRoutes, registry: foundation.registry },
    aliases: { current: () => foundation.catalogSource.current.aliases },
  });
  const reaping = new HoldReaper(foundation.ledgerStore, foundation.ledger, log).start(REAP_EVERY_MS);
  return {
    app,
    ...withAdmission(foundation, app, paidRoutes, admission, pipeline.authenticator),
    webSockets,
    announceShutdown: leaving(readiness, console, remote, webSockets),
    drain: (deadlineMs) => invocation.service.drain(deadlineMs),
    close: () => closeApi({ ...parts, reaping }),
  };
}

/** Creates the store of rate limit counters: in Redis, or in this process while Redis is unavailable. */
function composeRates({ config, clock, registry }: Foundation, redis: Redis): FallbackRateStore {
  const metrics = createRateMetrics(registry);
  const shared = new RedisRateStore(redis, config.redisPrefix);
  return new FallbackRateStore(shared, new MemoryRateStore(clock), clock, metrics);
}

function composeIdentity(foundation: Foundation): Identity {
  const { cells, catalog, clock, log, movements } = foundation;
  const keysStore = new KeysStore(cells);
  const keyCache = new KeyCache((hashes) => keysStore.facts(hashes), clock);
  return {
    keysStore,
    keyCache,
    lastUsed: new LastUsedService(keysStore, clock, log),
    keys: new KeysService(keysStore, movements, keyCache, catalog),
    operatorSessions: composeOperatorSessions(foundation),
  };
}

function composePipeline(
  foundation: Foundation,
  identity: Identity,
  parts: Pick<RequestPipeline, 'sessions' | 'workers'> &
    AdmissionParts & { readonly rates: FallbackRateStore },
): RequestPipeline {
  const { config, log, clock, cells, registry } = foundation;
  return {
    authenticator: new Authenticator({
      digest: secretHash,
      keys: identity.keyCache,
      clock,
      operators: config.operators,
      members: config.oidc !== null,
    }),
    sessions: parts.sessions,
    workers: parts.workers,
    operatorBrowsers: operatorBrowsers(identity.operatorSessions),
    rateLimiter: new RateLimiter(parts.rates, () => foundation.catalogSource.current.limits),
    idempotency: new Idempotency(
      new IdempotencyStore(cells),
      createAnswerCipher(config.secret, config.previousSecrets),
      log,
    ),
    metrics: createHttpMetrics(registry),
    log,
    clock,
    bodyBytes: new BodyBytes(),
    loopQueue: parts.loopQueue,
    requireFunds: async ({ accountId, apiKeyId }) => {
      if (!foundation.catalog.hasFreeModel) {
        await foundation.ledger.requireFunds(accountId, apiKeyId);
      }
    },
    onAuthenticated: (principal) => identity.lastUsed.touch(principal.apiKeyId),
    recordMemberAction: memberActs(foundation),
    onAuthenticatedConnection: (connection) => parts.strangers.proven(connection),
  };
}

/** Returns the function that announces shutdown: load balancers, event streams and waiting workers then move to other processes. */
function leaving(
  readiness: { shutDown(): void },
  console: { endStreams(): void },
  remote: Pick<RemoteWorkers, 'releaseWaiters'>,
  webSockets: Pick<WebSockets, 'leave'>,
): () => void {
  return () => {
    webSockets.leave();
    readiness.shutDown();
    console.endStreams();
    remote.releaseWaiters();
  };
}

async function closeApi(parts: {
  readonly reaping: { close(): Promise<void> };
  readonly invocation: InvocationParts;
  readonly tasks: TaskParts;
  readonly remote: RemoteWorkers;
  readonly identity: Identity;
  readonly engines: { close(): Promise<void> };
  readonly operators: OperatorParts;
  readonly rates: FallbackRateStore;
  readonly redis: { close(): Promise<void> };
  readonly console: { endStreams(): void };
  readonly people: MemberParts | undefined;
}): Promise<void> {
  await parts.reaping.close();
  parts.console.endStreams();
  parts.tasks.waiter.close();
  await Promise.all([
    parts.invocation.close(),
    parts.identity.lastUsed.close(),
    parts.engines.close(),
    parts.operators.close(),
    parts.remote.close(),
    parts.people?.close(),
  ]);
  parts.rates.close();
  await parts.redis.close();
}

/** Opens the connection for rate limits and cancels. It fails fast and logs only at debug level, so a watch reports whether Redis works. */
function composeRedis({ config, log, registry }: Foundation): {
  readonly connection: Redis;
  readonly watch: RedisWatch;
  close(): Promise<void>;
} {
  const connection = createProducerConnection(config.redisUrl, (error) =>
    log.debug({ error }, 'Redis is unavailable'),
  );
  const watch = watchRedis(config.redisUrl, config.redisPrefix, log);
  registerRedisGauge(registry, watch);
  return {
    connection,
    watch,
    close: async () => {
      connection.disconnect();
      await watch.close();
    },
  };
}
