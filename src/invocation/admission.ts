import { ONE_CALL } from '../catalog/pricing.ts';
import type { Ledger, LineItem } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError, invariant } from '../lib/errors.ts';
import type { EventLoopQueue, InTurn } from '../lib/event-loop-queue.ts';
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
import { isIgnored, untranslatedByAll } from './outgoing-request.ts';
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

/** The most a call would cost, computed before anything is held. */
export interface CallEstimate {
  /** The model that would be tried first. */
  readonly modelId: string;
  readonly inputTokens: number;
  /** The output cap that would be in force. */
  readonly outputTokensMax: number;
  /** Amount that would be held, in nano-USD. With several models it is that of the most expensive one. */
  readonly amount: NanoUsd;
  /** The most each line item may take of the amount, in nano-USD. The lines add up to `amount`. */
  readonly lines: Readonly<Partial<Record<LineItem, NanoUsd>>>;
  /** Whether the caller could afford it a moment ago. */
  readonly isAffordable: boolean;
  /** Cost in nano-USD of an answer of that many tokens, with nothing read from a cache. */
  readonly costOf: (outputTokens: number) => NanoUsd;
}

/** Decides whether a call may be made, and holds the most it can cost. */
export class Admission {
  readonly #deps: AdmissionDependencies;

  constructor(deps: AdmissionDependencies) {
    this.#deps = deps;
  }

  /**
   * Prices the call and holds the most it can cost. Throws AppError: model_not_found, model_not_allowed, model_not_supported_on_endpoint,
   * context_length_exceeded, insufficient_credits, service_unavailable, and any error of the ledger. Nothing is held when it throws.
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
    const onLeftOut = (paths: readonly string[]) =>
      void ignored.push(...paths.filter((path) => !ignored.includes(path)));
    return { invocation, call, toolNames, ignored, onLeftOut, inTurn };
  }

  /**
   * Returns the cost of each model the call names. A model whose context is too short is left out; when all are too short, throws the
   * first context_length_exceeded.
   */
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

  /** Returns the paths of request members that at least one candidate model sends to none of its providers. */
  async #ignored(candidates: readonly Candidate[], invocation: Invocation): Promise<string[]> {
    const paths = new Set<string>();
    for (const { wish, routes } of candidates) {
      const unsaid = untranslatedByAll(invocation, wish.model, (id) => this.#deps.providers.find(id));
      const foreign = invocation.ignored.filter((path) => isIgnored(path, invocation, routes));
      for (const path of [...foreign, ...(await invocation.inTurn(unsaid))]) {
        paths.add(path);
      }
    }
    return [...paths];
  }

  /**
   * Returns the input tokens of a call, counted as they are charged when a provider reports none. An input longer than the model's context
   * is counted too. Throws AppError: model_not_found, model_not_allowed, model_not_supported_on_endpoint, unsupported_input, invalid_parameter.
   */
  async countInput(invocation: Invocation): Promise<number> {
    const { models, loopQueue, overhead, settings } = this.#deps;
    const model = models.invocable(invocation.modelId, invocation.caller);
    requireEndpoint(model, invocation.servedBy);
    const unbounded = { ...model, contextLength: Number.MAX_SAFE_INTEGER };
    const parts = { loopQueue, overhead, settings, requireFunds: async () => undefined };
    const { estimate } = await boundInput(invocation, unbounded, this.#openRoutes(model), parts);
    return estimate.charged;
  }

  /**
   * Returns what {@link admit} would hold now, based on what the caller could spend a moment ago. Throws AppError: model_not_found,
   * model_not_allowed, model_not_supported_on_endpoint, unsupported_input, invalid_parameter, context_length_exceeded, max_cost_exceeded.
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
      inputTokens: wish.input.charged,
      outputTokensMax: grantedOutputTokens(wish, plan, granted),
      amount: granted,
      lines: holdLines(wish, granted),
      isAffordable,
      costOf: (outputTokens) => expectedCost(wish, outputTokens),
    };
  }

  /**
   * Rejects callers without money before counting the prompt, the most expensive work done for a call that is never paid for. The cached
   * facts of the key may be a second old, so the ledger decides.
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

  /** Learns from a report how much the provider adds to an input. Only for text-only inputs: other items are bounded, not counted. */
  #learn(candidates: readonly Candidate[], route: ModelRoute, reportedTokens: number): void {
    const asked = candidates.find(({ bounded }) => bounded.counted.has(route));
    const input = asked?.bounded.counted.get(route);
    const open = asked?.routes.find((one) => one.route === route);
    if (input && open && ITEM_KINDS.every((kind) => input.items[kind] === 0)) {
      this.#deps.overhead.observe(route, open.provider.dialect, input, reportedTokens);
    }
  }
}

/** A model that may answer the call, with its cost. */
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

/** Returns the amount to hold for a call that any of these models may answer, and the smallest hold worth taking, both in nano-USD. */
function heldFor(candidates: readonly Candidate[]): Pick<HoldPlan, 'amount' | 'minimum'> {
  return {
    amount: dearest(candidates.map(({ plan }) => plan.amount)),
    minimum: dearest(candidates.map(({ plan }) => plan.minimum)),
  };
}

function dearest(amounts: readonly NanoUsd[]): NanoUsd {
  return amounts.reduce((most, amount) => (amount > most ? amount : most), ZERO_USD);
}

/** Scales the context length to the number of inputs, because each input has a context of its own. */
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

/** Returns the smallest output cap that every route accepts, in tokens. With a lower one, a provider would write more than is held for. */
function outputCapMin(routes: readonly OpenRoute[]): number {
  return Math.max(1, ...routes.map(({ provider }) => provider.outputCapMin));
}
