import type { InTurn } from '../lib/event-loop-queue.ts';
import { type JsonObject, objectOf, textOf } from '../providers/json.ts';
import type { Provider, ProviderRequest } from '../providers/provider.types.ts';
import type { Invocation, ModelRoute } from './invocation.types.ts';
import type { LiveCall } from './live-call.ts';
import { outgoingRequest } from './outgoing-request.ts';
import type { AnswerIdentity } from './presenter.types.ts';

/** A call whose money is held, before any provider was asked. */
export interface Admitted {
  readonly invocation: Invocation;
  readonly call: LiveCall;
  /** The caller's names of tools that a provider may know by a shorter one, by that. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Paths of the members that no provider is sent. */
  readonly ignored: readonly string[];
  /** Runs the call's blocking work in turns with that of other accounts. */
  readonly inTurn: InTurn;
}

export type ResponseHeaders = Readonly<Record<string, string>>;

/** The call as a provider is sent it, by one of the routes of the model that is asked now. */
export async function requestFor(
  admitted: Admitted,
  provider: Provider,
  route: ModelRoute,
): Promise<ProviderRequest> {
  const { invocation, call, inTurn } = admitted;
  const { model, outputTokensMax } = call.alternative;
  const sent = outgoingRequest(invocation, model, provider, outputTokensMax, route);
  const body = await invocation.inTurn(sent);
  return { model: route.model, body, maxOutputTokens: outputTokensMax, betas: invocation.betas, inTurn };
}

/** How an answer of the model that is asked now names itself. */
export function identityOf(admitted: Admitted): AnswerIdentity {
  const { invocation, call } = admitted;
  const { model, input } = call.alternative;
  return {
    id: invocation.publicId,
    model: model.id,
    createdSeconds: Math.floor(call.parts.startedAt / 1000),
    inputTokens: input.tokens,
    requestId: invocation.requestId,
    thinking: asksForThinking(invocation.body),
    toolNames: admitted.toolNames,
    usageApart: invocation.usageApart,
  };
}

/** Anthropic shows thinking only to those who ask for it. */
function asksForThinking(body: JsonObject): boolean {
  return ['enabled', 'adaptive'].includes(textOf(objectOf(body.thinking).type));
}

/** What is told of the call beside its answer. */
export function headersOf({ invocation, call, ignored }: Admitted): ResponseHeaders {
  const { clamped, outputTokensMax } = call.alternative;
  return {
    'X-Generation-Id': invocation.publicId,
    ...(clamped ? { 'X-Max-Tokens-Clamped': String(outputTokensMax) } : {}),
    ...(ignored.length > 0 ? { 'X-Ignored-Parameters': ignored.join(', ') } : {}),
  };
}
