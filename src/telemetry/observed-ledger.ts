import type { LaneObserver } from '../ledger/commit-lane.ts';
import { PostgresLedger } from '../ledger/ledger.engine.ts';
import type { LedgerStore } from '../ledger/ledger.store.ts';
import type { Hold, HoldRequest, Settlement, SettleResult } from '../ledger/ledger.types.ts';
import { publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { formatUsd } from '../lib/money.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { SpanFacts, Tracing } from '../lib/tracing.ts';
import type { ModelMemory } from './model-memory.ts';
import type { SettlementObserver } from './settlement-metrics.ts';

export interface LedgerObservation {
  readonly settlements: SettlementObserver;
  readonly models: ModelMemory;
  readonly tracing: Tracing;
  /** Told of every batch. */
  readonly batches: LaneObserver;
}

/** The ledger, watched: every settlement is counted once, and a traced request leaves its trace with the task it orders. */
export class ObservedLedger extends PostgresLedger {
  readonly #observation: LedgerObservation;

  constructor(store: LedgerStore, log: Logger, observation: LedgerObservation, lanes: number) {
    super(store, log, observation.batches, lanes);
    this.#observation = observation;
  }

  override async reserve(request: HoldRequest, signal?: StopSignal): Promise<Hold> {
    const { models, tracing } = this.#observation;
    const hold = tracing.enabled
      ? await this.#reserveTraced(request, signal)
      : await super.reserve(request, signal);
    models.remember(request.id, request.model);
    return hold;
  }

  #reserveTraced(request: HoldRequest, signal?: StopSignal): Promise<Hold> {
    const { tracing } = this.#observation;
    const traced = withTrace(request, tracing.current());
    const facts = {
      'tollgate.account_id': publicId('account', request.accountId),
      'tollgate.model': request.model,
      'tollgate.held_usd': formatUsd(request.amount),
    };
    return tracing.span('ledger reserve', { facts }, () => super.reserve(traced, signal));
  }

  #settleTraced(settlement: Settlement): Promise<SettleResult> {
    const { tracing } = this.#observation;
    return tracing.span('ledger settle', { facts: factsOf(settlement) }, async (span) => {
      const result = await super.settle(settlement);
      span.add({ 'tollgate.outcome': result.outcome, 'tollgate.charge_usd': formatUsd(result.charge) });
      return result;
    });
  }

  override async settle(settlement: Settlement): Promise<SettleResult> {
    const { models, settlements, tracing } = this.#observation;
    const result = tracing.enabled ? await this.#settleTraced(settlement) : await super.settle(settlement);
    if (result.outcome === 'settled') {
      settlements.settled(models.recall(settlement.holdId), settlement, result);
    }
    return result;
  }
}

/** What was booked, by OpenTelemetry's names where it has one. */
function factsOf({ accountId, usage, provider }: Settlement): SpanFacts {
  return {
    'tollgate.account_id': publicId('account', accountId),
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    ...(provider !== null && { 'gen_ai.provider.name': provider }),
  };
}

/** Ids and flags only, beside the engine's input; it goes when that goes. */
function withTrace(request: HoldRequest, traceparent: string | undefined): HoldRequest {
  const { task } = request;
  return task && traceparent !== undefined
    ? { ...request, task: { ...task, parameters: { ...task.parameters, traceparent } } }
    : request;
}
