import { AppError } from '../lib/errors.ts';
import type { EventLoopQueue } from '../lib/event-loop-queue.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { Steps } from '../lib/steps.ts';
import type { JsonObject } from '../providers/json.ts';
import type { Provider, RequestDialect } from '../providers/provider.types.ts';
import { embeddingsContent } from './embeddings/embeddings-content.ts';
import type { HiddenOverhead } from './hidden-overhead.ts';
import { leastCost } from './hold-plan.ts';
import { type InputContent, inputContent, spelledLength } from './input-content.ts';
import {
  type CountedInput,
  countInput,
  estimateInput,
  type InputEstimate,
  largerEstimate,
} from './input-estimate.ts';
import { requireFetchable } from './input-links.ts';
import { ITEM_KINDS } from './input-media.ts';
import type { InvocableModel, Invocation, InvocationSettings, ModelRoute } from './invocation.types.ts';
import { outgoingForm, outgoingRequest } from './outgoing-request.ts';
import { rerankContent } from './rerank/rerank-texts.ts';

/** A route that can serve the call because its provider is configured. */
export interface OpenRoute {
  readonly route: ModelRoute;
  readonly provider: Provider;
}

export interface BoundedInput {
  /** The largest estimate over all routes. */
  readonly estimate: InputEstimate;
  /** The counted input each route would be sent. */
  readonly counted: ReadonlyMap<ModelRoute, CountedInput>;
}

export interface InputBoundParts {
  readonly loopQueue: EventLoopQueue;
  readonly overhead: HiddenOverhead;
  readonly settings: InvocationSettings;
  /** Called before anything is counted, with the least the call will cost in nano-USD. May throw. */
  readonly requireFunds: (least: NanoUsd) => Promise<void>;
}

/**
 * Returns the most tokens a call's input can have on any route that may serve it. Counts what each route would be sent and adds the
 * margin seen on that route. Throws AppError: unsupported_input for an input that the model does not accept, context_length_exceeded,
 * service_unavailable, and invalid_parameter when no provider's dialect can express the request.
 */
export async function boundInput(
  invocation: Invocation,
  model: InvocableModel,
  routes: readonly OpenRoute[],
  parts: InputBoundParts,
): Promise<BoundedInput> {
  const { overhead } = parts;
  let largest: InputEstimate | undefined;
  let refusal: unknown;
  const counted = new Map<ModelRoute, CountedInput>();
  const forms = new Map<string, CountedInput | undefined>();
  for (const { route, provider } of routes) {
    const form = outgoingForm(provider, route);
    if (!forms.has(form)) {
      let content: InputContent | undefined;
      try {
        content = await invocation.inTurn(takenApart(invocation, model, { provider, route }));
      } catch (error) {
        // another route's dialect may be able to express it
        refusal ??= error;
      }
      forms.set(form, content && (await countContent(content, invocation, model, parts)));
    }
    const input = forms.get(form);
    if (input) {
      counted.set(route, input);
      const estimate = estimateInput(input, model, overhead.marginOf(route, provider.dialect));
      largest = largest ? largerEstimate(largest, estimate) : estimate;
    }
  }
  if (largest) {
    return { estimate: largest, counted };
  }
  throw refusal ?? new AppError('provider_error', 'no provider of this model is configured');
}

/** Splits a request of each dialect into the content to count. */
const CONTENTS: Readonly<Record<RequestDialect, (body: JsonObject) => Steps<InputContent>>> = {
  chat: inputContent,
  messages: inputContent,
  embeddings: embeddingsContent,
  rerank: rerankContent,
};

function* takenApart(
  invocation: Invocation,
  model: InvocableModel,
  { provider, route }: OpenRoute,
): Steps<InputContent> {
  const cap = Math.min(invocation.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens);
  const outgoing = yield* outgoingRequest(invocation, model, provider, cap, route);
  yield undefined;
  return yield* CONTENTS[invocation.dialect](outgoing);
}

async function countContent(
  content: InputContent,
  { caller, signal }: Invocation,
  model: InvocableModel,
  { loopQueue, settings, requireFunds }: InputBoundParts,
): Promise<CountedInput> {
  requireModalities(content, model);
  requireFetchable(content.links, settings.httpMediaUrls);
  await requireFunds(leastCost(spelledLength(content), model));
  return await countInput(content, model, (steps) => loopQueue.run(caller.accountId, steps, signal));
}

function requireModalities(content: InputContent, model: InvocableModel): void {
  for (const kind of ITEM_KINDS) {
    if (content.items[kind] > 0 && !model.inputModalities.includes(kind)) {
      throw new AppError(
        'unsupported_input',
        `model ${model.id} does not accept input of type ${kind}; it accepts: ${model.inputModalities.join(', ')}`,
      );
    }
  }
}
