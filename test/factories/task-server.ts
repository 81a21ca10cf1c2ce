import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
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
import { systemClock } from '../../src/lib/clock.ts';
import { EventLoopQueue } from '../../src/lib/event-loop-queue.ts';
import { oneCell } from '../../src/store/cells.ts';
import { nativeTaskRoutes } from '../../src/tasks/native-tasks.routes.ts';
import { openAiImageRoutes } from '../../src/tasks/openai-images.routes.ts';
import { openAiVideoRoutes } from '../../src/tasks/openai-videos.routes.ts';
import { taskRoutes } from '../../src/tasks/tasks.routes.ts';
import { webhookRoutes } from '../../src/webhooks/webhooks.routes.ts';
import { fixedAliases } from './fixed-aliases.ts';
import { silentLog } from './ledger.ts';
import type { TaskTest } from './task-test.ts';

export interface TaskServerAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back
  readonly json: any;
}

export interface TaskServer {
  readonly url: string;
  call(
    method: string,
    path: string,
    options?: { key?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<TaskServerAnswer>;
  close(): Promise<void>;
}

const LIMITS = { requestsPerMinute: 1e7, tokensPerMinute: 1e10, concurrency: 1e4 };

/** Starts the routes of tasks and webhooks behind the real request pipeline. `key` is the bearer key of calls that do not pass one. */
export async function startTaskServer({ database, stack }: TaskTest, key: string): Promise<TaskServer> {
  const cells = oneCell(database.database);
  const keys = new KeysStore(cells);
  const pipeline = {
    authenticator: new Authenticator({
      digest: secretHash,
      keys: new KeyCache((hashes) => keys.facts(hashes), systemClock),
      clock: systemClock,
      operators: [{ name: 'operator', token: 'test-admin-token-0123456789abcdef' }],
      failuresPerMinute: 1_000_000,
    }),
    sessions: { cookieName: 'tollgate', find: async () => undefined },
    operatorBrowsers: { operatorOf: async () => undefined },
    workers: { identify: () => Promise.reject(new Error('no workers here')) },
    rateLimiter: new RateLimiter(new MemoryRateStore(systemClock), () => LIMITS),
    idempotency: new Idempotency(
      new IdempotencyStore(cells),
      createAnswerCipher('a secret for tests'),
      silentLog,
    ),
    metrics: createHttpMetrics(new Registry()),
    log: silentLog,
    clock: systemClock,
    bodyBytes: new BodyBytes(),
    loopQueue: new EventLoopQueue(),
    requireFunds: async () => undefined,
    onAuthenticated: () => undefined,
    recordMemberAction: async () => undefined,
    onAuthenticatedConnection: () => undefined,
  };
  const routes = [
    ...taskRoutes(stack.submits, stack.results),
    ...nativeTaskRoutes(stack.tasks, stack.cancels),
    ...openAiImageRoutes(stack.submits, stack),
    ...openAiVideoRoutes(stack.submits, stack.tasks),
    ...webhookRoutes(stack.secrets, stack.deliveries),
  ];
  const app = createHttpApp({ pipeline, routes, aliases: fixedAliases(), trustedProxies: 0 });
  const server = createHttpServer(app);
  const url = await listen(server);
  return {
    url,
    call: async (method, path, options = {}) => {
      const response = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: {
          authorization: `Bearer ${options.key ?? key}`,
          ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...options.headers,
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        json: text === '' ? undefined : JSON.parse(text),
      };
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
