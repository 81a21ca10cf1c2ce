import { ONE_CALL } from '../catalog/pricing.ts';
import type { Ledger, LineItem } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { EventLoopQueue, InTurn } from '../lib/event-loop-queue.ts';
import { invariant } from '../lib/invariant.ts';
import type { Logger } from '../lib/logger.ts';
import { type NanoUsd, ZERO_USD } from '../lib/money.ts';
import type { Admitted } from './admitted.ts';
import { type Alternative, Alternatives } from './alternatives.ts';
import { longToolNames } from './dialects/tool-names.ts';
import type { HiddenOverhead } from './hidden-overhead.ts';
import {
  expectedCost,
  grantedOutputTokens,
  type HoldPlan,
  type HoldWish,
  holdLines,
  planHold,
} from './hold-plan.ts';
import { type BoundedInput, boundInput, type InputBoundParts, type OpenRoute } from './input-bound.ts';
import { ITEM_KINDS } from './input-media.ts';
import type {
  InvocableModel,
  Invocation,
  InvocationSettings,
  ModelRoute,
  ModelSource,
} from './invocation.types.ts';
import { LiveCall } from './live-call.ts';
import { isIgnored, unsaidByAll } from './outgoing-request.ts';
import type { ProviderSource } from './route-runner.ts';

export interface AdmissionDependencies {
  readonly ledger: Ledger;
  readonly models: ModelSource;
  readonly providers: ProviderSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly loopQueue: EventLoopQueue;
  readonly overhead: HiddenOverhead;
  readonly settings: InvocationSettings;
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** What a call would cost at most, before anything is held. */
export interface CallEstimate {
  /** The model that is asked first. */
  readonly modelId: string;
  readonly inputTokens: number;
  /** The output cap that would be in force. */
  readonly outputTokensMax: number;
  /** What would be held, in nano-USD: of several models that of the dearest one. */
  readonly amount: NanoUsd;
  /** What each part of it may take of the amount, in nano-USD: together that. */
  readonly lines: Readonly<Partial<Record<LineItem, NanoUsd>>>;
  /** Whether the caller had that much a moment ago. */
  readonly isAffordable: boolean;
  /** What it costs, in nano-USD, when the answer has so many tokens and nothing comes from a cache. */
  readonly costOf: (outputTokens: number) => NanoUsd;
}

/** Decides whether a call may be made, and holds the most it can cost. */
export class Admission {
  readonly #deps: AdmissionDependencies;

  constructor(deps: AdmissionDependencies) {
    this.#deps = deps;
  }

  /**
   * Throws AppError: model_not_found, model_not_allowed, model_not_supported_on_endpoint, context_length_exceeded,
   * insufficient_credits, service_unavailable and whatever the ledger refuses with. Nothing is held then.
   */
  async admit(invocation: Invocation): Promise<Admitted> {
    const { ledger, clock, log, settings } = this.#deps;
    const startedAt = clock.now();
    const candidates = await this.#candidates(invocation, (least) => this.#requireFunds(invocation, least));
    const [first] = candidates;
    const ignored = await this.#ignored(candidates, invocation);
    const toolNames =
      invocation.dialect === 'messages' ? await invocation.inTurn(longToolNames(invocation.body)) : NO_NAMES;
    const hold = await ledger.reserve(
      {
        id: invocation.generationId,
        accountId: invocation.caller.accountId,
        apiKeyId: invocation.caller.apiKeyId,
        requestId: invocation.requestId,
        endpoint: invocation.endpoint,
        model: first.wish.model.id,
        priceVersion: first.wish.model.priceVersion,
        ...heldFor(candidates),
      },
      invocation.signal,
    );
    const [alternative, ...fallbacks] = candidates.map((candidate) => alternativeOf(candidate, hold.granted));
    invariant(alternative, 'a call has a model');
    const inTurn: InTurn = (steps) => this.#deps.loopQueue.run(invocation.caller.accountId, steps);
    const call = new LiveCall({
      ledger,
      clock,
      log,
      hold,
      alternatives: new Alternatives(alternative, ...fallbacks),
      maxCost: invocation.maxCost,
      streamed: invocation.streamed,
      startedAt,
      ignored,
      failureAllowance: settings.failureAllowance,
      inTurn,
      onReport: (route, inputTokens) => this.#learn(candidates, route, inputTokens),
      onSettled: invocation.onSettled,
    });
    return { invocation, call, toolNames, ignored, inTurn };
  }

  /** What each model of the call would cost. One whose context is too short is left out, unless all are: then its refusal is thrown. */
  async #candidates(
    invocation: Invocation,
    requireFunds: InputBoundParts['requireFunds'],
  ): Promise<[Candidate, ...Candidate[]]> {
    const { models } = this.#deps;
    const ids = [invocation.modelId, ...invocation.fallbackIds];
    const named = ids.map((id) => models.invocable(id, invocation.caller));
    for (const model of named) {
      requireEndpoint(model, invocation.servedBy);
    }
    const distinct = named.filter(({ id }, index) => named.findIndex((other) => other.id === id) === index);
    const candidates: Candidate[] = [];
    let tooLong: unknown;
    for (const model of distinct) {
      try {
        candidates.push(await this.#candidate(invocation, model, requireFunds));
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'context_length_exceeded')) {
          throw error;
        }
        tooLong ??= error;
      }
    }
    const [first, ...others] = candidates;
    if (!first) {
      throw tooLong;
    }
    return [first, ...others];
  }

  async #candidate(
    invocation: Invocation,
    named: InvocableModel,
    requireFunds: InputBoundParts['requireFunds'],
  ): Promise<Candidate> {
    const { loopQueue, overhead, settings } = this.#deps;
    const model = withContexts(named, invocation.inputs);
    const routes = this.#openRoutes(model);
    const bounded = await boundInput(invocation, model, routes, {
      loopQueue,
      overhead,
      settings,
      requireFunds,
    });
    const input = bounded.estimate;
    const units = { ...ONE_CALL, images: input.images };
    const { maxCost } = invocation;
    const maxTokens = invocation.maxTokens && Math.max(invocation.maxTokens, outputCapMin(routes));
    const wish = { model, input, units, maxTokens, maxCost, floorTokens: settings.outputFloorTokens };
    return { wish, plan: planHold(wish), bounded, routes };
  }

  /** Paths of the members that one of the candidates' providers would not be sent. */
  async #ignored(candidates: readonly Candidate[], invocation: Invocation): Promise<string[]> {
    const paths = new Set<string>();
    for (const { wish, routes } of candidates) {
      const unsaid = unsaidByAll(invocation, wish.model, (id) => this.#deps.providers.find(id));
      const foreign = invocation.ignored.filter((path) => isIgnored(path, invocation, routes));
      for (const path of [...foreign, ...(await invocation.inTurn(unsaid))]) {
        paths.add(path);
      }
    }
    return [...paths];
  }

  /**
   * Tokens of a call's input, by the count that holds start from; one that is longer than the model's context is counted, too.
   * Throws AppError: model_not_found, model_not_allowed, model_not_supported_on_endpoint, unsupported_input, invalid_parameter.
   */
  async countInput(invocation: Invocation): Promise<number> {
    const { models, loopQueue, overhead, settings } = this.#deps;
    const model = models.invocable(invocation.modelId, invocation.caller);
    requireEndpoint(model, invocation.servedBy);
    const unbounded = { ...model, contextLength: Number.MAX_SAFE_INTEGER };
    const parts = { loopQueue, overhead, settings, requireFunds: async () => undefined };
    const { estimate } = await boundInput(invocation, unbounded, this.#openRoutes(model), parts);
    return estimate.tokens;
  }

  /**
   * What {@link admit} would hold now, by what the caller could spend a moment ago. Throws AppError: model_not_found, model_not_allowed,
   * model_not_supported_on_endpoint, unsupported_input, invalid_parameter, context_length_exceeded, max_cost_exceeded.
   */
  async estimate(invocation: Invocation): Promise<CallEstimate> {
    const candidates = await this.#candidates(invocation, async () => undefined);
    const { amount, minimum } = heldFor(candidates);
    const { spendable } = invocation.caller;
    const isAffordable = spendable >= minimum;
    const granted = isAffordable && spendable < amount ? spendable : amount;
    const [{ wish, plan }] = candidates;
    return {
      modelId: wish.model.id,
      inputTokens: wish.input.tokens,
      outputTokensMax: grantedOutputTokens(wish, plan, granted),
      amount: granted,
      lines: holdLines(wish, granted),
      isAffordable,
      costOf: (outputTokens) => expectedCost(wish, outputTokens),
    };
  }

  /**
   * Counting a prompt is the dearest thing done for a call that is not paid for: callers without money are refused before. What their
   * key's facts say may be a second old, so the ledger has the last word.
   */
  async #requireFunds({ caller }: Invocation, least: NanoUsd): Promise<void> {
    if (caller.spendable < least) {
      await this.#deps.ledger.requireFunds(caller.accountId, caller.apiKeyId, least);
    }
  }

  #openRoutes(model: InvocableModel): OpenRoute[] {
    return model.routes.flatMap((route) => {
      const provider = this.#deps.providers.find(route.provider);
      return provider ? [{ route, provider }] : [];
    });
  }

  /** What a provider reports of an input of text alone tells what it adds to it; items are bounded, not counted. */
  #learn(candidates: readonly Candidate[], route: ModelRoute, reportedTokens: number): void {
    const asked = candidates.find(({ bounded }) => bounded.counted.has(route));
    const input = asked?.bounded.counted.get(route);
    const open = asked?.routes.find((one) => one.route === route);
    if (input && open && ITEM_KINDS.every((kind) => input.items[kind] === 0)) {
      this.#deps.overhead.observe(route, open.provider.dialect, input, reportedTokens);
    }
  }
}

/** A model that may answer a call, and what that would cost. */
interface Candidate {
  readonly wish: HoldWish;
  readonly plan: HoldPlan;
  readonly bounded: BoundedInput;
  readonly routes: readonly OpenRoute[];
}

function alternativeOf({ wish, plan }: Candidate, granted: NanoUsd): Alternative {
  const outputTokensMax = grantedOutputTokens(wish, plan, granted);
  const { model, input, units } = wish;
  const clamped = outputTokensMax < Math.max(plan.outputTokens, wish.maxTokens ?? 0);
  return { model, input, units, outputTokensMax, clamped };
}

/** What is held for a call that each of these models may answer, and the least worth holding, in nano-USD. */
function heldFor(candidates: readonly Candidate[]): Pick<HoldPlan, 'amount' | 'minimum'> {
  return {
    amount: dearest(candidates.map(({ plan }) => plan.amount)),
    minimum: dearest(candidates.map(({ plan }) => plan.minimum)),
  };
}

function dearest(amounts: readonly NanoUsd[]): NanoUsd {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), ZERO_USD);
}

/** The model as it reads so many inputs, each in a context of its own. */
function withContexts(model: InvocableModel, inputs: number): InvocableModel {
  return inputs === 1 ? model : { ...model, contextLength: model.contextLength * inputs };
}

function requireEndpoint(model: InvocableModel, servedBy: readonly string[]): void {
  if (!servedBy.some((endpoint) => model.endpoints.includes(endpoint))) {
    throw new AppError(
      'model_not_supported_on_endpoint',
      `model ${model.id} is not available on this endpoint`,
    );
  }
}

/** The least cap that all of the routes take, in tokens: a provider must not write more than is held for. */
function outputCapMin(routes: readonly OpenRoute[]): number {
  return Math.max(1, ...routes.map(({ provider }) => provider.outputCapMin));
}
