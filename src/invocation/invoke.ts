import { COMMENT_KEEP_ALIVE, EventStream } from '../http/answers/sse.ts';
import { maxCostOf } from '../http/input/max-cost.ts';
import type { Reply, RouteContext } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { merged } from '../lib/merged.ts';
import { formatUsd } from '../lib/money.ts';
import { inputsToEmbed } from '../providers/embeddings-reader.ts';
import { type JsonObject, objectOf } from '../providers/json.ts';
import type { RequestDialect } from '../providers/provider.types.ts';
import { betasOf } from './dialects/anthropic-betas.ts';
import type { InvocationService } from './invocation.service.ts';
import type { Invocation } from './invocation.types.ts';
import type { DialectPresenter } from './presenter.types.ts';
import { applyRequestPolicy } from './request-policy.ts';

/** What all calls of a route have in common. */
export interface CallRoute {
  readonly dialect: RequestDialect;
  /** The literal path, as shown in reports. */
  readonly endpoint: string;
  /** Catalog endpoints; the model must support at least one of them. */
  readonly servedBy: readonly string[];
  /** Paths of members that the route itself left out. */
  readonly ignored: readonly string[];
  /** The original request when it came in the Responses dialect, for providers that speak it. */
  readonly native?: JsonObject;
}

export interface CountRoute extends CallRoute {
  readonly service: InvocationService;
}

export interface DialectRoute extends CountRoute {
  readonly presenter: DialectPresenter;
  /** Headers sent with every answer. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Members that the bodies of all dialects have in common. */
type InvocationBody = JsonObject & {
  readonly model: string;
  readonly stream?: boolean | null | undefined;
  readonly max_tokens?: number | null | undefined;
  readonly models?: readonly string[] | null | undefined;
};

/**
 * Returns how many tokens a request would send, by our own count; undefined when the client disconnected. Holds nothing, charges nothing
 * and asks no provider.
 */
export async function countCallInput(
  context: InvocationContext,
  body: InvocationBody,
  route: CountRoute,
): Promise<number | undefined> {
  const invocation = await invocationOf(context, body, undefined, route);
  const tokens = await route.service.countInput(invocation);
  // counting is the most expensive work here, so it uses the same token limit as the calls themselves
  context.reportTokens(tokens ?? 0);
  return tokens;
}

/** Maximum characters of a model's name in the log. The name comes from the caller and may not exist. */
const MODEL_LOGGED_MAX = 200;

export type InvocationContext = Omit<RouteContext<'inference', unknown, unknown, unknown>, 'body'>;

/** Handles one request of any dialect and answers as JSON or as a stream. */
export async function invoke(
  context: InvocationContext,
  body: InvocationBody,
  maxTokens: number | undefined,
  route: DialectRoute,
): Promise<Reply | undefined> {
  const { service, presenter } = route;
  const invocation = await invocationOf(context, body, maxTokens, route);
  if (!invocation.streamed) {
    const answered = await service.complete(invocation, presenter, (headers) =>
      context.response.set(headers),
    );
    return answered && { headers: merged(route.headers, answered.headers), body: answered.body };
  }
  await service.stream(invocation, presenter, (headers) => {
    context.response.set(merged(route.headers, headers));
    const keepAlive = merged(COMMENT_KEEP_ALIVE, { keepAliveFrame: presenter.keepAliveFrame });
    return new EventStream(context.response, keepAlive);
  });
  return undefined;
}

/** Builds the call from a request. Throws AppError for members that cannot be metered or have the wrong type. */
export async function invocationOf(
  context: InvocationContext,
  body: InvocationBody,
  maxTokens: number | undefined,
  { dialect, endpoint, servedBy, ignored, native }: CallRoute,
): Promise<Invocation> {
  const admissible = await context.inTurn(applyRequestPolicy(dialect, body));
  context.note({ model: body.model.slice(0, MODEL_LOGGED_MAX) });
  return {
    dialect,
    endpoint,
    servedBy,
    requestId: context.requestId,
    generationId: context.generationId,
    publicId: publicId('generation', context.generationId),
    caller: context.principal,
    modelId: body.model,
    fallbackIds: dialect === 'chat' ? (body.models ?? []) : [],
    inTurn: context.inTurn,
    ...admissible,
    native,
    ignored: [...ignored, ...admissible.ignored],
    betas: dialect === 'messages' ? betasOf(context.headers['anthropic-beta']) : [],
    inputs: inputsOf(dialect, body),
    maxTokens,
    maxCost: maxCostOf(context.headers),
    streamed: body.stream === true,
    separateUsageChunk: objectOf(body.stream_options).include_usage === true,
    signal: context.signal,
    onSettled: ({ model, provider, usage, charge, code }) => {
      const { inputTokens, outputTokens } = usage;
      context.reportTokens(inputTokens + outputTokens);
      context.note({
        model,
        inputTokens,
        outputTokens,
        charge: formatUsd(charge),
        ...(provider !== undefined && { provider }),
        ...(code !== undefined && { code }),
      });
    },
  };
}

function inputsOf(dialect: RequestDialect, { input, documents }: JsonObject): number {
  switch (dialect) {
    case 'embeddings':
      return inputsToEmbed(input).length;
    case 'rerank':
      return Array.isArray(documents) ? documents.length : 1;
    default:
      return 1;
  }
}
