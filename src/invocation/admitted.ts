import type { InTurn } from '../lib/event-loop-queue.ts';
import { merged } from '../lib/merged.ts';
import { type JsonObject, objectOf, textOf } from '../providers/json.ts';
import type { Provider, ProviderAnswer, ProviderRequest } from '../providers/provider.types.ts';
import { withUsage } from '../providers/provider-failure.ts';
import { withoutRefusedBetas } from '../providers/refused-members.ts';
import { betasFor } from './dialects/anthropic-betas.ts';
import type { Invocation, ModelRoute } from './invocation.types.ts';
import type { LiveCall } from './live-call.ts';
import { mayReason, namesOfCaller, outgoingRequest, untranslatedBy } from './outgoing-request.ts';
import type { AnswerIdentity, AnswerPresenter, DialectPresenter } from './presenter.types.ts';

/** A call whose money is held. No provider has been asked yet. */
export interface Admitted {
  readonly invocation: Invocation;
  readonly call: LiveCall;
  /** Maps the shortened tool name that a provider may see to the caller's own name. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Paths of the members that are not sent to any provider. */
  readonly ignored: readonly string[];
  /** Adds to them those that a provider's server has rejected. */
  readonly onLeftOut: (paths: readonly string[]) => void;
  /** Runs the call's blocking work, taking turns with other accounts. */
  readonly inTurn: InTurn;
}

export type ResponseHeaders = Readonly<Record<string, string>>;

/** Asks a provider for an answer, and once more without the betas that its server rejects by name, and what they enable. */
export async function asked<T>(
  admitted: Admitted,
  provider: Provider,
  route: ModelRoute,
  ask: (request: ProviderRequest) => Promise<T>,
): Promise<T> {
  const request = await requestFor(admitted, provider, route);
  try {
    return await ask(request);
  } catch (error) {
    const betas = withoutRefusedBetas(request.betas, error);
    if (!betas) {
      throw error;
    }
    const fewer = merged(admitted, { invocation: merged(admitted.invocation, { betas }) });
    const unsaid = (one: Admitted) =>
      one.invocation.inTurn(untranslatedBy(one.invocation, one.call.alternative.model, provider, route));
    const before = await unsaid(admitted);
    const lost = (await unsaid(fewer)).filter((path) => !before.includes(path));
    const answer = await ask(await requestFor(fewer, provider, route));
    const names = ['anthropic-beta', ...lost];
    tellLeftOut(admitted, route, names, names);
    return answer;
  }
}

/** Builds the request that a provider gets, for one route of the current model. */
async function requestFor(
  admitted: Admitted,
  provider: Provider,
  route: ModelRoute,
): Promise<ProviderRequest> {
  const { invocation, call, inTurn } = admitted;
  const { model, outputTokensMax } = call.alternative;
  const sent = outgoingRequest(invocation, model, provider, outputTokensMax, route);
  const body = await invocation.inTurn(sent);
  const reasons = mayReason(model, route, provider);
  const betas = betasFor(body, invocation.betas);
  const onLeftOut = (paths: readonly string[]) => {
    tellLeftOut(admitted, route, paths, namesOfCaller(invocation, provider.requestDialect, paths));
  };
  return { model: route.model, body, maxOutputTokens: outputTokensMax, reasons, betas, inTurn, onLeftOut };
}

/** Tells the operator and the caller what a server has rejected, each in the names that they know. */
function tellLeftOut(
  { call, onLeftOut }: Admitted,
  { provider, model }: ModelRoute,
  members: readonly string[],
  names: readonly string[],
): void {
  call.parts.log.warn(
    { provider, model, members },
    'a server rejects members of requests, so that calls are sent twice: see `drop` of routes',
  );
  onLeftOut(names);
}

/** Returns how an answer of the current model identifies itself. */
export function identityOf(admitted: Admitted): AnswerIdentity {
  const { invocation, call } = admitted;
  const { model, input } = call.alternative;
  return {
    id: invocation.publicId,
    model: model.id,
    createdSeconds: Math.floor(call.parts.startedAt / 1000),
    inputTokens: input.charged,
    requestId: invocation.requestId,
    thinking: asksForThinking(invocation.body),
    toolNames: admitted.toolNames,
    separateUsageChunk: invocation.separateUsageChunk,
  };
}

/**
 * Translates an answer for the caller while other routes may still be tried. Throws ProviderFailure with the reported usage for one that
 * cannot be translated: to the caller it is the same as one that cannot be read.
 */
export function presented(
  admitted: Admitted,
  answer: ProviderAnswer,
  { dialect }: Provider,
  presenter: Pick<DialectPresenter, 'answer'>,
): AnswerPresenter {
  try {
    return presenter.answer(answer, dialect, identityOf(admitted));
  } catch (error) {
    throw withUsage(error, answer.usage);
  }
}

/** Returns whether the caller asked for thinking. Anthropic shows it only then. */
function asksForThinking(body: JsonObject): boolean {
  return ['enabled', 'adaptive'].includes(textOf(objectOf(body.thinking).type));
}

/** Returns the response headers that describe the call. */
export function headersOf({ invocation, call, ignored }: Admitted): ResponseHeaders {
  const { clamped, outputTokensMax } = call.alternative;
  return {
    'X-Generation-Id': invocation.publicId,
    ...(clamped ? { 'X-Max-Tokens-Clamped': String(outputTokensMax) } : {}),
    ...(ignored.length > 0 ? { 'X-Ignored-Parameters': ignored.join(', ') } : {}),
  };
}
