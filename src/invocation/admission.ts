import { ONE_CALL } from '../catalog/pricing.ts';
import type { Ledger } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { InTurn, LoopTurns } from '../lib/loop-turns.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { HiddenOverhead } from './hidden-overhead.ts';
import { grantedOutputTokens, planHold } from './hold-plan.ts';
import { type BoundedInput, boundInput, type OpenRoute } from './input-bound.ts';
import { ITEM_KINDS } from './input-content.ts';
import type { InputEstimate } from './input-estimate.ts';
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

/** A call whose money is held, before any provider was asked. */
export interface Admitted {
  readonly invocation: Invocation;
  readonly call: LiveCall;
  readonly model: InvocableModel;
  readonly input: InputEstimate;
  /** The cap the provider is told, in tokens. */
  readonly outputTokensMax: number;
  /** True when money, not the caller or the model, decided the cap. */
  readonly clamped: boolean;
  /** Paths of the members that no provider is sent. */
  readonly ignored: readonly string[];
  /** Runs the call's blocking work in turns with that of other accounts. */
  readonly inTurn: InTurn;
}

export interface AdmissionDependencies {
  readonly ledger: Ledger;
  readonly models: ModelSource;
  readonly providers: ProviderSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly turns: LoopTurns;
  readonly overhead: HiddenOverhead;
  readonly settings: InvocationSettings;
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
    const { ledger, clock, log, models, turns, overhead, settings } = this.#deps;
    const startedAt = clock.now();
    const model = withContexts(models.invocable(invocation.modelId, invocation.caller), invocation.inputs);
    requireEndpoint(model, invocation.servedBy);
    const routes = this.#openRoutes(model);
    const requireFunds = (least: NanoUsd) => this.#requireFunds(invocation, least);
    const bounded = await boundInput(invocation, model, routes, { turns, overhead, requireFunds });
    const input = bounded.estimate;
    const units = { ...ONE_CALL, images: input.images };
    const { maxTokens, maxCost, streamed, onUsage } = invocation;
    const wish = { model, input, units, maxTokens, maxCost, floorTokens: settings.outputFloorTokens };
    const plan = planHold(wish);
    const hold = await ledger.reserve(
      {
        id: invocation.generationId,
        accountId: invocation.caller.accountId,
        apiKeyId: invocation.caller.apiKeyId,
        requestId: invocation.requestId,
        endpoint: invocation.endpoint,
        model: model.id,
        priceVersion: model.priceVersion,
        amount: plan.amount,
        minimum: plan.minimum,
      },
      invocation.signal,
    );
    const outputTokensMax = grantedOutputTokens(wish, plan, hold.granted);
    const foreign = invocation.ignored.filter((path) => isIgnored(path, invocation, routes));
    const ignored = [...foreign, ...unsaidByAll(invocation, model, (id) => this.#deps.providers.find(id))];
    const inTurn: InTurn = (steps) => turns.run(invocation.caller.accountId, steps);
    const call = new LiveCall({
      ledger,
      clock,
      log,
      hold,
      model,
      input,
      units,
      outputTokensMax,
      maxCost,
      streamed,
      startedAt,
      ignored,
      failureAllowance: settings.failureAllowance,
      inTurn,
      onReport: (route, inputTokens) => this.#learn(bounded, routes, route, inputTokens),
      onUsage,
    });
    const clamped = outputTokensMax < plan.outputTokens;
    return { invocation, call, model, input, outputTokensMax, clamped, ignored, inTurn };
  }

  /**
   * Tokens of a call's input, by the count that holds start from; one that is longer than the model's context is counted, too.
   * Throws AppError: model_not_found, model_not_allowed, model_not_supported_on_endpoint, unsupported_input, invalid_parameter.
   */
  async countInput(invocation: Invocation): Promise<number> {
    const { models, turns, overhead } = this.#deps;
    const model = models.invocable(invocation.modelId, invocation.caller);
    requireEndpoint(model, invocation.servedBy);
    const unbounded = { ...model, contextLength: Number.MAX_SAFE_INTEGER };
    const parts = { turns, overhead, requireFunds: async () => undefined };
    const { estimate } = await boundInput(invocation, unbounded, this.#openRoutes(model), parts);
    return estimate.tokens;
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
  #learn(
    { counted }: BoundedInput,
    routes: readonly OpenRoute[],
    route: ModelRoute,
    reportedTokens: number,
  ): void {
    const input = counted.get(route);
    const open = routes.find((one) => one.route === route);
    if (input && open && ITEM_KINDS.every((kind) => input.items[kind] === 0)) {
      this.#deps.overhead.observe(route, open.provider.dialect, input, reportedTokens);
    }
  }
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
