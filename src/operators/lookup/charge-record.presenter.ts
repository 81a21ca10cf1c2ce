import { presentGeneration } from '../../generations/generations.presenter.ts';
import { attemptsOfCall, requestIdOfCall } from '../../ledger/stored-call.ts';
import { publicId } from '../../lib/ids.ts';
import { formatUsd, nanoUsd } from '../../lib/money.ts';
import type { TokenUsage } from '../../lib/usage.ts';
import { presentLedgerEntry } from '../ledger-entries.routes.ts';
import type { ChargeRecord } from './charge-record.read-model.ts';
import type { ChargeRecordJson } from './charge-record.schema.ts';

/** Presents a generation with everything that explains its charge. */
export function presentChargeRecord({
  generation,
  record,
  entries,
  writeOffs,
}: ChargeRecord): ChargeRecordJson {
  const { reported, counted } = generation.metering ?? {};
  return {
    ...presentGeneration(generation),
    account_id: publicId('account', record.account_id),
    account_name: record.account_name,
    api_key_name: record.api_key_name,
    request_id: requestIdOfCall(generation.id, generation.request_id),
    held: usd(record.held),
    not_charged: usd(record.shortfall),
    provider: record.provider,
    provider_cost: record.provider_cost === null ? null : usd(record.provider_cost),
    attempts: attemptsOfCall(record).map(({ provider, model, outcome, latencyMs, cost, said }) => ({
      provider,
      model,
      outcome,
      latency_ms: latencyMs,
      cost: cost === undefined ? null : costOf(cost),
      said: said ?? null,
    })),
    reported_usage: reported ? tokens(reported) : null,
    counted_usage: counted ? tokens(counted) : null,
    transactions: entries.map(presentLedgerEntry),
    write_offs: writeOffs.map(({ reason, amount, at }) => ({
      reason,
      amount: usd(amount),
      created_at: at.toISOString(),
    })),
  };
}

/** Converts the stored cost of an attempt to USD. Calls from before December 2026 store it in USD already. */
function costOf(kept: string): string {
  return kept.includes('.') ? kept : usd(kept);
}

function usd(amount: string): string {
  return formatUsd(nanoUsd(amount));
}

function tokens(usage: Partial<TokenUsage>): Record<string, number> {
  const named = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    reasoning_tokens: usage.reasoningTokens,
  };
  return Object.fromEntries(
    Object.entries(named).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );
}
