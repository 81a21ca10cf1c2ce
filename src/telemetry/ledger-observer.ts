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
  /** Told of every batch. */
  readonly batches: LaneObserver;
}

/** Counts every settlement once, and leaves the trace of a request with the task it orders. */
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
