import { rm } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { API_DESCRIPTION } from '../../../src/api-description.ts';
import { type AppOptions, allRoutes } from '../../../src/app.ts';
import type { Catalog, Seller } from '../../../src/catalog/catalog.types.ts';
import { createBillingSurface, type PaymentChoice } from '../../../src/compose/billing.ts';
import { AccountReadModel } from '../../../src/console/account.read-model.ts';
import { accountOverviewRoutes } from '../../../src/console/account.routes.ts';
import { AccountEvents } from '../../../src/console/account-events.ts';
import { EventsReadModel } from '../../../src/console/events.read-model.ts';
import { eventRoutes } from '../../../src/console/events.routes.ts';
import { sessionRoutes } from '../../../src/console/sessions.routes.ts';
import { SessionsService } from '../../../src/console/sessions.service.ts';
import { SessionsStore } from '../../../src/console/sessions.store.ts';
import type { AliasNames } from '../../../src/http/aliases.ts';
import { Authenticator } from '../../../src/http/callers/authenticator.ts';
import { KeyCache } from '../../../src/http/callers/key-cache.ts';
import { createHttpApp } from '../../../src/http/http-app.ts';
import { createHttpMetrics } from '../../../src/http/http-metrics.ts';
import { createHttpServer } from '../../../src/http/http-server.ts';
import { createAnswerCipher } from '../../../src/http/idempotency/answer-cipher.ts';
import { IdempotencyStore } from '../../../src/http/idempotency/idempotency.store.ts';
import { Idempotency, type IdempotencyTimes } from '../../../src/http/idempotency/idempotency.ts';
import { BodyBytes } from '../../../src/http/input/body-bytes.ts';
import { ConcurrencyQueue } from '../../../src/http/limits/concurrency-queue.ts';
import { MemoryRateStore } from '../../../src/http/limits/memory-rate-store.ts';
import { RateLimiter } from '../../../src/http/limits/rate-limiter.ts';
import type { RateStore } from '../../../src/http/limits/rate-store.types.ts';
import type { RequestPipeline } from '../../../src/http/request-pipeline.ts';
import type { Route } from '../../../src/http/route.ts';
import { KeysStore } from '../../../src/keys/keys.store.ts';
import { LastUsedService } from '../../../src/keys/last-used.service.ts';
import { secretHash } from '../../../src/keys/secret.ts';
import { Movements } from '../../../src/ledger/movements.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { EventLoopQueue } from '../../../src/lib/event-loop-queue.ts';
import { createLogger, type Logger } from '../../../src/lib/logger.ts';
import { TokenWorkerAuthenticator } from '../../../src/remote-workers/worker-authenticator.ts';
import { WorkerTokensStore } from '../../../src/remote-workers/worker-tokens.store.ts';
import { oneCell } from '../../../src/store/cells.ts';
import { fixedAliases } from '../../factories/fixed-aliases.ts';
import { ownTemporaryFolder } from '../../factories/temporary-folder.ts';
import { createTestDatabase, type TestDatabase } from '../../setup/database.ts';
import type { Answer, CallOptions } from './answer.types.ts';
import { checkAnswer, routeOf } from './check-answer.ts';
import { createAccountServices, createOperatorServices, testCatalog } from './test-services.ts';

export const ADMIN_TOKEN = 'test-admin-token-0123456789abcdef';

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly database: TestDatabase['database'];
  readonly test: TestDatabase;
  readonly routes: readonly Route[];
  readonly lastUsed: LastUsedService;
  readonly sweep: (limit: number) => Promise<number>;
  readonly followMoves: () => Promise<number>;
  readonly catalog: { current: Catalog };
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  close(): Promise<void>;
}

export interface ServerOptions {
  /** Routes mounted before the service's own. */
  readonly extraRoutes?: readonly Route[];
  readonly rateStore?: RateStore;
  readonly limits?: Catalog['limits'];
  readonly failuresPerMinute?: number;
  readonly log?: Logger;
  readonly aliases?: AliasNames;
  readonly corsOrigins?: readonly string[];
  readonly requireFunds?: RequestPipeline['requireFunds'];
  readonly onAuthenticatedConnection?: RequestPipeline['onAuthenticatedConnection'];
  readonly recordMemberAction?: RequestPipeline['recordMemberAction'];
  readonly clock?: Clock;
  readonly payment?: PaymentChoice;
  /** Seller named in documents. */
  readonly seller?: Seller;
  /** Replaces the service's own routes. */
  readonly routes?: readonly Route[];
  readonly idempotencyTimes?: IdempotencyTimes;
  /** How long a call beyond its concurrency limit waits for a place, in ms. */
  readonly placeWaitMs?: number;
  /** Maximum number of pages that follow their account. */
  readonly followersMax?: number;
  /** Folder of the built viewer of `/docs`. Without it the plain page is served. */
  readonly viewerFolder?: string;
}

/** The real HTTP server on a database of its own. */
export async function startTestServer(options: ServerOptions = {}): Promise<TestServer> {
  const test = await createTestDatabase();
  const { database } = test;
  const cells = oneCell(database);
  const log = options.log ?? createLogger({ name: 'test', level: 'silent' });
  const clock = options.clock ?? systemClock;
  const mediaFolder = ownTemporaryFolder('media');
  const catalog = { current: testCatalog(options.limits) };
  const keysStore = new KeysStore(cells);
  const keyCache = new KeyCache((hashes) => keysStore.facts(hashes), clock);
  const lastUsed = new LastUsedService(keysStore, clock, log);
  const sessions: SessionsService = new SessionsService({
    store: new SessionsStore(cells),
    authenticator: () => pipeline.authenticator,
    clock,
    secure: false,
  });
  const pipeline: RequestPipeline = createPipeline(
    { ...options, clock, log },
    { database, keyCache, lastUsed, catalog, sessions },
  );
  const account = createAccountServices({ database, keysStore, keyCache, catalog, mediaFolder });
  const billing = createBillingSurface({
    ...{ cells, movements: new Movements(() => database.money), keysStore, clock, log },
    publicUrl: 'http://localhost:8080',
    payment: options.payment ?? { kind: 'test' },
    seller: () => options.seller,
  });
  const events = new AccountEvents({
    rows: new EventsReadModel(cells),
    lookMs: 50,
    ...(options.followersMax !== undefined && { followersMax: options.followersMax }),
  });
  const registry = new Registry();
  const appOptions: AppOptions = {
    pipeline,
    paidRoutes: options.extraRoutes ?? [],
    account,
    billingRoutes: billing.routes,
    workerRoutes: [],
    consoleRoutes: [
      ...sessionRoutes(sessions, account.keys),
      ...accountOverviewRoutes({
        accounts: new AccountReadModel(cells),
        limits: () => catalog.current.limits,
        features: { payments: 'test', keepPrompts: false },
      }),
      ...eventRoutes({ events, sessions, askMs: 50 }),
    ],
    operators: createOperatorServices(database, { keys: account.keys, keysStore, keyCache }),
    meta: {
      readiness: async () => ({ checks: { database: true }, optional: { redis: false } }),
      metrics: registry,
      authenticator: pipeline.authenticator,
      about: API_DESCRIPTION,
      // /docs must not depend on whether a viewer is built here
      viewerFolder: options.viewerFolder ?? join(mediaFolder, 'no-viewer'),
    },
    surroundings: {
      aliases: fixedAliases(options.aliases),
      trustedProxies: 0,
      corsOrigins: options.corsOrigins ?? [],
      pages: [],
    },
  };
  const routes = options.routes ?? allRoutes(appOptions);
  const server = createHttpServer(createHttpApp({ pipeline, routes, ...appOptions.surroundings }));
  const port = await listen(server);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    database,
    test,
    routes,
    sweep: (limit) => billing.sweep(limit),
    followMoves: () => billing.followMoves(),
    lastUsed,
    catalog,
    call: async (method, path, callOptions = {}) => {
      const answer = await call(url, method, path, callOptions);
      checkAnswer(routeOf(routes, method, path), answer);
      return answer;
    },
    close: async () => {
      events.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await lastUsed.close();
      options.rateStore?.close();
      await rm(mediaFolder, { recursive: true, force: true });
      await test.close();
    },
  };
}

function createPipeline(
  options: ServerOptions & { clock: Clock; log: Logger },
  parts: {
    database: TestDatabase['database'];
    keyCache: KeyCache;
    lastUsed: LastUsedService;
    catalog: { current: Catalog };
    sessions: SessionsService;
  },
): RequestPipeline {
  const { clock, log } = options;
  const cipher = createAnswerCipher('a secret of the test installation');
  return {
    authenticator: new Authenticator({
      digest: secretHash,
      keys: parts.keyCache,
      clock,
      operators: [{ name: 'operator', token: ADMIN_TOKEN }],
      members: true,
      failuresPerMinute: options.failuresPerMinute ?? 1_000_000,
    }),
    sessions: parts.sessions,
    operatorBrowsers: { operatorOf: async () => undefined },
    workers: new TokenWorkerAuthenticator(new WorkerTokensStore(parts.database.money), clock),
    rateLimiter: new RateLimiter(
      options.rateStore ?? new MemoryRateStore(clock),
      () => parts.catalog.current.limits,
      new ConcurrencyQueue(options.placeWaitMs),
    ),
    idempotency: new Idempotency(
      new IdempotencyStore(oneCell(parts.database)),
      cipher,
      log,
      options.idempotencyTimes,
    ),
    metrics: createHttpMetrics(new Registry()),
    log,
    clock: systemClock,
    bodyBytes: new BodyBytes(),
    loopQueue: new EventLoopQueue(),
    requireFunds: options.requireFunds ?? (async () => undefined),
    onAuthenticated: (principal) => parts.lastUsed.touch(principal.apiKeyId),
    recordMemberAction: options.recordMemberAction ?? (async () => undefined),
    onAuthenticatedConnection: options.onAuthenticatedConnection ?? (() => undefined),
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function call(url: string, method: string, path: string, options: CallOptions): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers };
  if (options.key !== undefined) {
    headers.authorization = `Bearer ${options.key}`;
  }
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  if (body !== undefined && headers['content-type'] === undefined) {
    headers['content-type'] = 'application/json';
  }
  const response = await fetch(url + path, {
    method,
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}
