import type { LaneObserver } from '../ledger/commit-lane.ts';
import type { LedgerObserver } from '../ledger/ledger.engine.ts';
import type { HoldRequest, Settlement } from '../ledger/ledger.types.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd } from '../lib/money.ts';
import type { SpanFacts, Tracing } from '../lib/tracing.ts';
import type { ModelMemory } from './model-memory.ts';
import type { SettlementObserver } from './settlement-metrics.ts';

export interface LedgerObservation {
  readonly settlements: SettlementObserver;
  readonly models: ModelMemory;
  readonly tracing: Tracing;
  /** Observes every batch. */
  readonly batches: LaneObserver;
}

/** Creates the observer that counts every settlement once and stores a request's trace with the task it submits. */
export function createLedgerObserver(observation: LedgerObservation): LedgerObserver {
  const { settlements, models, tracing, batches } = observation;
  return {
    ...batches,
    async reserving(request, run) {
      // the task belongs to the request, not to its reservation
      const traced = withTrace(request, tracing.current());
      const hold = tracing.enabled
        ? await tracing.span('ledger reserve', { facts: factsOfHold(request) }, () => run(traced))
        : await run(traced);
      models.remember(request.id, request.model);
      return hold;
    },
    async settling(settlement, run) {
      const result = tracing.enabled
        ? await tracing.span('ledger settle', { facts: factsOf(settlement) }, async (span) => {
            const settled = await run();
            const charge = formatUsd(settled.charge);
            span.add({ 'tollgate.outcome': settled.outcome, 'tollgate.charge_usd': charge });
            return settled;
          })
        : await run();
      if (result.outcome === 'settled') {
        settlements.settled(models.recall(settlement.holdId), settlement, result);
      }
      return result;
    },
  };
}

function factsOfHold({ accountId, model, amount }: HoldRequest): SpanFacts {
  return {
    'tollgate.account_id': publicId('account', accountId),
    'tollgate.model': model,
    'tollgate.held_usd': formatUsd(amount),
  };
}

/** Returns the span attributes of a settlement, under OpenTelemetry's names where they exist. */
function factsOf({ accountId, usage, provider }: Settlement): SpanFacts {
  return {
    'tollgate.account_id': publicId('account', accountId),
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    ...(provider !== null && { 'gen_ai.provider.name': provider }),
  };
}

/** Stores the traceparent, which holds only ids and flags, with the engine's input. It is deleted together with that. */
function withTrace(request: HoldRequest, traceparent: string | undefined): HoldRequest {
  const { task } = request;
  return task && traceparent !== undefined
    ? { ...request, task: { ...task, parameters: { ...task.parameters, traceparent } } }
    : request;
}
