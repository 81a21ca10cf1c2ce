import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { createBillingSurface } from '../../src/compose/billing.ts';
import { CreditsReadModel } from '../../src/credits/credits.read-model.ts';
import { creditRoutes } from '../../src/credits/credits.routes.ts';
import { Authenticator } from '../../src/http/callers/authenticator.ts';
import { KeyCache } from '../../src/http/callers/key-cache.ts';
import { createHttpApp } from '../../src/http/http-app.ts';
import { createHttpMetrics } from '../../src/http/http-metrics.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { createAnswerCipher } from '../../src/http/idempotency/answer-cipher.ts';
import { IdempotencyStore } from '../../src/http/idempotency/idempotency.store.ts';
import { Idempotency } from '../../src/http/idempotency/idempotency.ts';
import { BodyBytes } from '../../src/http/input/body-bytes.ts';
import { MemoryRateStore } from '../../src/http/limits/memory-rate-store.ts';
import { RateLimiter } from '../../src/http/limits/rate-limiter.ts';
import { KeysStore } from '../../src/keys/keys.store.ts';
import { secretHash } from '../../src/keys/secret.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { EventLoopQueue } from '../../src/lib/event-loop-queue.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { oneCell } from '../../src/store/cells.ts';
import { createDatabase } from '../../src/store/database.ts';
import { fixedAliases } from '../../test/factories/fixed-aliases.ts';

export interface ReportServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the report routes behind the real request pipeline on a database. */
export async function startReportServer(databaseUrl: string): Promise<ReportServer> {
  const log = createLogger({ name: 'bench', level: 'silent' });
  const clock = systemClock;
  const database = createDatabase({ url: databaseUrl, moneyConnections: 4, connections: 8 }, () => undefined);
  const cells = oneCell(database);
  const keysStore = new KeysStore(cells);
  const billing = createBillingSurface({
    ...{ cells, keysStore, clock, log },
    movements: new Movements(() => database.money),
    publicUrl: 'http://localhost',
    payment: { kind: 'none' },
    seller: () => undefined,
  });
  const keys = new KeyCache((hash) => keysStore.facts(hash), clock);
  const pipeline = {
    authenticator: new Authenticator({ digest: secretHash, keys, clock, operators: [] }),
    sessions: { cookieName: 'tollgate', find: async () => undefined },
    operatorBrowsers: { operatorOf: async () => undefined },
    workers: { identify: () => Promise.reject(new Error('no workers here')) },
    rateLimiter: new RateLimiter(new MemoryRateStore(clock), () => ({
      requestsPerMinute: 1e9,
      tokensPerMinute: 1e9,
      concurrency: 1e4,
    })),
    idempotency: new Idempotency(new IdempotencyStore(cells), createAnswerCipher('x'.repeat(32)), log),
    metrics: createHttpMetrics(new Registry()),
    log,
    clock,
    bodyBytes: new BodyBytes(),
    loopQueue: new EventLoopQueue(),
    requireFunds: async () => undefined,
    onAuthenticated: () => undefined,
    recordMemberAction: async () => undefined,
    onAuthenticatedConnection: () => undefined,
  };
  const routes = [...creditRoutes(new CreditsReadModel(cells)), ...billing.routes];
  const server = createHttpServer(
    createHttpApp({ pipeline, routes, aliases: fixedAliases(), trustedProxies: 0 }),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => close(server, database.close),
  };
}

async function close(server: Server, closeDatabase: () => Promise<void>): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await closeDatabase();
}
