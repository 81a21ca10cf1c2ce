import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request, type Response } from 'express';
import { type Pricing, parsePrice } from '../../src/catalog/pricing.ts';
import { validate } from '../../src/http/input/validate.ts';
import type { Route } from '../../src/http/route.ts';
import { Admission } from '../../src/invocation/admission.ts';
import { chatRoutes } from '../../src/invocation/chat.routes.ts';
import { embeddingsRoutes } from '../../src/invocation/embeddings/embeddings.routes.ts';
import { estimateRoutes } from '../../src/invocation/estimates.routes.ts';
import { HiddenOverhead } from '../../src/invocation/hidden-overhead.ts';
import { InFlight } from '../../src/invocation/in-flight.ts';
import { InvocationService } from '../../src/invocation/invocation.service.ts';
import {
  type Caller,
  DEFAULT_INVOCATION_SETTINGS,
  type InvocableModel,
  type InvocationSettings,
} from '../../src/invocation/invocation.types.ts';
import { messagesRoutes } from '../../src/invocation/messages.routes.ts';
import { rerankRoutes } from '../../src/invocation/rerank/rerank.routes.ts';
import { responsesRoutes } from '../../src/invocation/responses/responses.routes.ts';
import { RouteRunner } from '../../src/invocation/route-runner.ts';
import type { Ledger } from '../../src/ledger/ledger.types.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { AppError } from '../../src/lib/errors.ts';
import { AT_ONCE, EventLoopQueue } from '../../src/lib/event-loop-queue.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { createLogger, type Logger } from '../../src/lib/logger.ts';
import { parseUsd } from '../../src/lib/money.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { ProviderHealth } from '../../src/providers/provider-health.ts';
import { ProviderRegistry } from '../../src/providers/provider-registry.ts';
import { type ProviderSettings, providerSettingsSchema } from '../../src/providers/provider-settings.ts';
import { MemoryLedger } from './memory-ledger.ts';

export function prices(
  prompt: string,
  completion: string,
  others: Partial<Record<keyof Pricing, string>> = {},
): Pricing {
  const price = (text = '0') => parsePrice(text)!;
  return {
    prompt: price(prompt),
    completion: price(completion),
    request: price(others.request),
    image: price(others.image),
    web_search: 0n,
    internal_reasoning: price(others.internal_reasoning),
    input_cache_read: price(others.input_cache_read),
    input_cache_write: price(others.input_cache_write),
  };
}

/** One dollar per million input tokens, two per million output tokens: 1,000 and 2,000 nano-USD per token. */
export const SIMPLE_PRICES = prices('0.000001', '0.000002');

export function model(
  id: string,
  routes: InvocableModel['routes'],
  others: Partial<InvocableModel> = {},
): InvocableModel {
  return {
    id,
    endpoints: ['chat', 'messages'],
    contextLength: 100_000,
    maxOutputTokens: 4_096,
    pricing: SIMPLE_PRICES,
    priceVersion: 'prices-1',
    routes,
    supportedParameters: [],
    inputModalities: ['text', 'image', 'file'],
    itemTokens: { image: 1_600, file: 3_000 },
    ...others,
  };
}

const log = createLogger({ name: 'test', level: 'silent' });

export interface GatewayOptions {
  readonly providers: readonly object[];
  readonly models: readonly InvocableModel[];
  readonly balance?: string;
  readonly settings?: Partial<InvocationSettings>;
  /** Known overheads of providers; without it each gateway learns its own. */
  readonly overhead?: HiddenOverhead;
  /** Median tokens of an account's answers, for every model; unknown by default. */
  readonly typicalTokens?: number;
  /** Destination of the service's warnings; none by default. */
  readonly log?: Logger;
  /** A real ledger and its caller. Default: an in-memory ledger with one account. */
  readonly books?: { readonly ledger: Ledger; readonly caller: Caller };
}

/** The invocation routes on the smallest request pipeline that can run them. */
export class Gateway {
  readonly ledger: MemoryLedger;
  readonly service: InvocationService;
  readonly inFlight = new InFlight();
  readonly #registry: ProviderRegistry;
  readonly #server: Server;
  #accepted = 0;

  private constructor(options: GatewayOptions) {
    const settings = options.providers.map((one): ProviderSettings => providerSettingsSchema.parse(one));
    const models = new Map(options.models.map((one) => [one.id, one]));
    const clock = systemClock;
    const loopQueue = new EventLoopQueue();
    this.ledger = new MemoryLedger(parseUsd(options.balance ?? '100')!);
    this.#registry = new ProviderRegistry(settings);
    const providers = this.#registry;
    const invocationSettings = { ...DEFAULT_INVOCATION_SETTINGS, ...options.settings };
    const source = {
      invocable(id: string) {
        const found = models.get(id);
        if (!found) {
          throw new AppError('model_not_found', `there is no model ${id}`);
        }
        return found;
      },
    };
    const admission = new Admission({
      ledger: options.books?.ledger ?? this.ledger,
      models: source,
      providers,
      clock,
      log: options.log ?? log,
      loopQueue,
      overhead: options.overhead ?? new HiddenOverhead({ exchange: async () => [] }, log),
      settings: invocationSettings,
    });
    const runner = new RouteRunner(providers, new ProviderHealth(clock), clock);
    this.service = new InvocationService(admission, runner, this.inFlight, invocationSettings);
    const app = express();
    const deps = { service: this.service, bodyBytesMax: 10_485_760 };
    for (const route of [
      ...chatRoutes(deps),
      ...messagesRoutes(deps),
      ...responsesRoutes({ ...deps, loopQueue, clock }),
      ...embeddingsRoutes(deps),
      ...rerankRoutes(deps),
      ...estimateRoutes(this.service, { tokens: async () => options.typicalTokens }),
    ]) {
      const paths = [route.path, route.path.replace('/vendorx', '')];
      app.post(paths, express.json({ limit: '32mb' }), (request, response) =>
        carry(route, request, response, options.books?.caller ?? CALLER),
      );
    }
    this.#server = app.listen(0, '127.0.0.1');
    this.#server.on('connection', () => {
      this.#accepted += 1;
    });
    // like the server of the product: a test that computes for seconds must not find its next connection closed
    this.#server.keepAliveTimeout = 75_000;
  }

  static async start(options: GatewayOptions): Promise<Gateway> {
    const gateway = new Gateway(options);
    await once(gateway.#server, 'listening');
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves once that many clients have been accepted since the start, none is connected and every call is settled. */
  async idle(clients: number): Promise<void> {
    const connections = () =>
      new Promise<number>((resolve) => this.#server.getConnections((_, count) => resolve(count)));
    // a client that left at once may not have been accepted yet
    while (this.#accepted < clients || this.inFlight.size > 0 || (await connections()) > 0) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#registry.close();
  }
}

const CALLER = { accountId: 'account', apiKeyId: 'key', allowedModels: null, spendable: parseUsd('100')! };

async function carry(
  route: Route,
  request: Request,
  response: Response,
  caller: Partial<Caller>,
): Promise<void> {
  const requestId = String(request.headers['x-request-id'] ?? 'req_test');
  const controller = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) {
      controller.abort();
    }
  });
  try {
    const otherwise = route.otherForm?.read(request.body);
    const body = otherwise
      ? validate(route.otherForm!.schema, atOnce(otherwise), 'body')
      : validate(route.body!, request.body, 'body');
    const accountId = String(request.headers['x-test-account'] ?? caller.accountId);
    const principal = { ...caller, accountId };
    const { handle } = otherwise ? route.otherForm! : route;
    const reply = await handle({
      requestId,
      generationId: newUuid(),
      operator: undefined as never,
      worker: undefined as never,
      session: undefined,
      principal: principal as never,
      params: {},
      query: {},
      body,
      inTurn: AT_ONCE,
      headers: request.headers,
      url: request.url,
      signal: controller.signal,
      reportTokens: () => undefined,
      note: () => undefined,
      response,
    });
    if (reply) {
      response
        .set(reply.headers ?? {})
        .status(reply.status ?? 200)
        .json(reply.body);
    }
  } catch (error) {
    const told = error instanceof AppError ? error : new AppError('internal_error', String(error));
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (told.retryAfterSeconds !== undefined) {
      response.set('Retry-After', String(told.retryAfterSeconds));
    }
    if (told.shouldRetry !== undefined) {
      response.set('x-should-retry', String(told.shouldRetry));
    }
    const { code, message, type } = told;
    response.status(told.status).json({ error: { code, message, type }, request_id: requestId });
  }
}
