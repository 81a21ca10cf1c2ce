import { Counter, Histogram, type Registry } from 'prom-client';
import type { ProviderAttempt, Settlement, SettleResult } from '../ledger/ledger.types.ts';
import type { NanoUsd } from '../lib/money.ts';

/** Called once for every hold that this process settles. */
export interface SettlementObserver {
  settled(model: string, settlement: Settlement, result: SettleResult): void;
}

const ATTEMPT_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const FIRST_TOKEN_SECONDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const RUN_SECONDS = [0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1_800, 3_600];

/** Creates the metrics of provider calls, tokens, money and ended tasks. They come from settlements, so they match the ledger. */
export function createSettlementMetrics(registry: Registry): SettlementObserver {
  const calls = createCallMetrics(registry);
  const money = createMoneyMetrics(registry);
  const tasks = createTaskMetrics(registry);
  return {
    settled(model, settlement, result) {
      money(model, settlement, result);
      if (settlement.task) {
        tasks(settlement);
      } else {
        calls(model, settlement);
      }
    },
  };
}

type Observe = (model: string, settlement: Settlement) => void;

function createCallMetrics(registry: Registry): Observe {
  const registers = [registry];
  const attempts = new Counter({
    name: 'tollgate_provider_attempts_total',
    help: 'Calls to providers by outcome: `ok` or the reason of the failure',
    labelNames: ['provider', 'outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'tollgate_provider_attempt_duration_seconds',
    help: 'Duration of one call to a provider: to the whole answer, or to the first event of a stream',
    labelNames: ['provider', 'outcome'],
    buckets: ATTEMPT_SECONDS,
    registers,
  });
  const firstToken = new Histogram({
    name: 'tollgate_provider_first_token_seconds',
    help: 'Time from the request to the first token of a stream, by the provider that answered',
    labelNames: ['provider'],
    buckets: FIRST_TOKEN_SECONDS,
    registers,
  });
  const tokens = new Counter({
    name: 'tollgate_tokens_total',
    help: 'Tokens of settled calls; input includes cache, output includes reasoning',
    labelNames: ['model', 'kind'],
    registers,
  });
  const observeAttempt = ({ provider, outcome, latencyMs }: ProviderAttempt) => {
    attempts.inc({ provider, outcome });
    duration.observe({ provider, outcome: outcome === 'ok' ? 'ok' : 'failed' }, latencyMs / 1_000);
  };
  return (model, { attempts: made, provider, firstTokenMs, usage }) => {
    made.forEach(observeAttempt);
    if (provider !== null && firstTokenMs !== null) {
      firstToken.observe({ provider }, firstTokenMs / 1_000);
    }
    const kinds = {
      input: usage.inputTokens,
      output: usage.outputTokens,
      cache_read: usage.cacheReadTokens,
      cache_write: usage.cacheWriteTokens,
      reasoning: usage.reasoningTokens,
    };
    for (const [kind, count] of Object.entries(kinds)) {
      if (count > 0) {
        tokens.inc({ model, kind }, count);
      }
    }
  };
}

function createMoneyMetrics(registry: Registry): SettlementObserver['settled'] {
  const registers = [registry];
  const generations = new Counter({
    name: 'tollgate_generations_total',
    help: 'Settled generations',
    labelNames: ['model', 'status'],
    registers,
  });
  const settled = new Counter({
    name: 'tollgate_settled_usd_total',
    help: 'Charged to customers',
    labelNames: ['model'],
    registers,
  });
  const cost = new Counter({
    name: 'tollgate_provider_cost_usd_total',
    help: 'Billed to the operator by providers and engines for ended calls and runs, if they report it; repeated runs are in the margins only',
    labelNames: ['provider'],
    registers,
  });
  const shortfall = new Counter({
    name: 'tollgate_shortfall_usd_total',
    help: "Cost not covered by the hold or by free money, or beyond the caller's maximum: the operator's loss",
    labelNames: ['model', 'reason'],
    registers,
  });
  const waived = new Counter({
    name: 'tollgate_waived_usd_total',
    help: 'Not charged to customers because a provider did not complete its answer',
    labelNames: ['model', 'provider'],
    registers,
  });
  return (model, { status, provider, providerCost, beyondMaxCost }, result) => {
    generations.inc({ model, status });
    settled.inc({ model }, usd(result.charge));
    if (result.shortfall > 0n) {
      shortfall.inc({ model, reason: 'above_hold' }, usd(result.shortfall));
    }
    if (beyondMaxCost > 0n) {
      shortfall.inc({ model, reason: 'above_max_cost' }, usd(beyondMaxCost));
    }
    if (result.waived > 0n) {
      waived.inc({ model, provider: provider ?? 'none' }, usd(result.waived));
    }
    if (provider !== null && providerCost !== null) {
      cost.inc({ provider }, usd(providerCost));
    }
  };
}

function createTaskMetrics(registry: Registry): (settlement: Settlement) => void {
  const registers = [registry];
  const ended = new Counter({
    name: 'tollgate_tasks_ended_total',
    help: 'Ended tasks by engine (`none`: before one was used) and outcome',
    labelNames: ['engine', 'outcome'],
    registers,
  });
  const run = new Histogram({
    name: 'tollgate_task_run_seconds',
    help: 'Time on the engine of the run that ended the task',
    labelNames: ['engine', 'outcome'],
    buckets: RUN_SECONDS,
    registers,
  });
  return ({ status, provider, attempts }) => {
    const labels = { engine: provider ?? 'none', outcome: status };
    ended.inc(labels);
    const last = attempts.at(-1);
    if (last) {
      run.observe(labels, last.latencyMs / 1_000);
    }
  };
}

/** Converts to USD as a float. Exact to a cent, which is enough for a graph; the books are in Postgres. */
function usd(amount: NanoUsd): number {
  return Number(amount) / 1e9;
}
