import type pg from 'pg';
import { invariant } from '../lib/errors.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { ApiKeyRow } from '../store/models/api-key.model.ts';
import { jsonParameter, run } from '../store/statement.ts';
import {
  expiredHolds,
  extendHold,
  renewHolds,
  reserveFewHolds,
  reserveHolds,
  settleFewHolds,
  settleHolds,
  spendableFunds,
} from './ledger.sql.ts';
import type { Hold, HoldRequest, MeteredSoFar, Settlement } from './ledger.types.ts';
import { storedAttempts, storedRequestId } from './stored-call.ts';

export interface ReserveRow {
  /** `held`, `closed` or an error code. */
  readonly outcome: string;
  readonly granted: NanoUsd | null;
}

/** What can be spent now, in nano-USD. */
export interface SpendableFunds {
  readonly account: NanoUsd;
  /** Null when the key has no limit. */
  readonly key: NanoUsd | null;
  /** How often the key's limit renews; null for never. */
  readonly reset: ApiKeyRow['limit_reset'];
  /** Nano-USD the account owes. */
  readonly debt: NanoUsd;
}

export interface SettleRow {
  readonly outcome: 'settled' | 'closed' | 'fenced' | 'open' | 'unknown';
  readonly charge: NanoUsd;
}

/** A settlement to send. The reaper sets `onlyExpired`: it must not close a hold that was renewed meanwhile. */
export interface SettlementItem {
  readonly settlement: Settlement;
  readonly onlyExpired: boolean;
}

export interface ExpiredHold {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly amount: NanoUsd;
  readonly ageMs: number;
  readonly metered: MeteredSoFar | null;
}

/** Up to this many items, a stored plan is faster than planning for the batch; measured. */
const FEW = 8;

/** The statements of the money path: one round trip each, one statement per batch. */
export class LedgerStore {
  readonly #pool: pg.Pool;
  readonly #fewMost: number;

  /** `plans`: whether small batches are planned once per connection (`kept`) or every time (`fresh`). */
  constructor(pool: pg.Pool, plans: 'kept' | 'fresh' = 'kept') {
    this.#pool = pool;
    this.#fewMost = plans === 'kept' ? FEW : 0;
  }

  /** Decides a batch of holds. `ttlMs` is the lease of a call's hold, in ms. */
  async reserve(requests: readonly HoldRequest[], ttlMs: number): Promise<ReserveRow[]> {
    const batch = jsonParameter(
      requests.map((request, ordinal) => toHoldRequestRow(request, ordinal, ttlMs)),
    );
    const rows = await run<{ id: string; outcome: string; granted: string | null }>(
      this.#pool,
      requests.length <= this.#fewMost ? reserveFewHolds : reserveHolds,
      [batch],
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    return requests.map((request) => {
      const row = byId.get(request.id);
      invariant(row, `no decision came back for hold ${request.id}`);
      return { outcome: row.outcome, granted: row.granted === null ? null : nanoUsd(row.granted) };
    });
  }

  /** Returns the nano-USD that account and key (null: no limit) can spend now. An account in debt can spend nothing. */
  async spendable(accountId: string, apiKeyId: string): Promise<SpendableFunds> {
    const rows = await run<{
      account: string;
      key: string | null;
      reset: ApiKeyRow['limit_reset'];
      debt: string;
    }>(this.#pool, spendableFunds, [accountId, apiKeyId]);
    const [row] = rows;
    return {
      account: nanoUsd(row?.account ?? 0n),
      key: row?.key == null ? null : nanoUsd(row.key),
      reset: row?.reset ?? null,
      debt: nanoUsd(row?.debt ?? 0n),
    };
  }

  /** Settles a batch of holds. */
  async settle(items: readonly SettlementItem[]): Promise<SettleRow[]> {
    const batch = jsonParameter(items.map(toSettlementRow));
    const rows = await run<{ id: string; outcome: SettleRow['outcome']; charge: string }>(
      this.#pool,
      items.length <= this.#fewMost ? settleFewHolds : settleHolds,
      [batch],
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    return items.map(({ settlement }) => {
      const row = byId.get(settlement.holdId);
      invariant(row, `no outcome came back for hold ${settlement.holdId}`);
      return { outcome: row.outcome, charge: nanoUsd(row.charge) };
    });
  }

  /** Adds nano-USD to an open hold. Returns the new total, or undefined when the ledger rejects it. */
  async extend(hold: Hold, amount: NanoUsd): Promise<NanoUsd | undefined> {
    const values = [hold.id, hold.accountId, hold.apiKeyId, amount.toString()];
    const [row] = await run<{ total: string | null }>(this.#pool, extendHold, values);
    return row?.total == null ? undefined : nanoUsd(row.total);
  }

  /** Extends the leases of live holds to `ttlMs` from now and stores what they have used so far. Returns how many were renewed. */
  async renew(holds: readonly { id: string; metered: MeteredSoFar }[], ttlMs: number): Promise<number> {
    const batch = jsonParameter(holds.map(({ id, metered }) => ({ id, metered: toMeteredJson(metered) })));
    const [row] = await run<{ renewed: number }>(this.#pool, renewHolds, [batch, ttlMs]);
    return row?.renewed ?? 0;
  }

  /** Returns holds whose lease ran out, oldest first. */
  async expired(limit: number): Promise<ExpiredHold[]> {
    const rows = await run<ExpiredHoldRow>(this.#pool, expiredHolds, [limit]);
    return rows.map((row) => ({
      id: row.id,
      accountId: row.account_id,
      apiKeyId: row.api_key_id,
      amount: nanoUsd(row.amount),
      ageMs: Number(row.age_ms),
      metered: row.metered === null ? null : fromMeteredJson(row.metered),
    }));
  }
}

interface MeteredJson {
  readonly amount: string;
  readonly lines: Readonly<Record<string, string>>;
  readonly usage: MeteredSoFar['usage'];
  readonly served?: MeteredSoFar['served'];
}

interface ExpiredHoldRow extends Record<string, unknown> {
  readonly id: string;
  readonly account_id: string;
  readonly api_key_id: string;
  readonly amount: string;
  readonly age_ms: string;
  readonly metered: MeteredJson | null;
}

/** Omits undefined members, which are NULL in the database: Postgres parses every member that is sent. */
function toHoldRequestRow(request: HoldRequest, ordinal: number, ttlMs: number): object {
  const { task } = request;
  return {
    ordinal,
    id: request.id,
    account_id: request.accountId,
    api_key_id: request.apiKeyId,
    request_id: storedRequestId(request) ?? undefined,
    endpoint: request.endpoint,
    model: request.model,
    price_version: request.priceVersion,
    amount: request.amount.toString(),
    minimum: request.minimum.toString(),
    ttl_ms: ttlMs,
    task: task && {
      kind: task.kind,
      pool: task.pool,
      parameters: task.parameters,
      seed: task.seed.toString(),
      webhook_url: task.webhookUrl,
      deadline_ms: task.deadlineMs,
    },
  };
}

/** Like {@link toHoldRequestRow}. Also omits values that are 0 in most settlements. */
function toSettlementRow({ settlement, onlyExpired }: SettlementItem): object {
  const { usage, task } = settlement;
  return {
    id: settlement.holdId,
    account_id: settlement.accountId,
    api_key_id: settlement.apiKeyId,
    status: settlement.status,
    model: settlement.served?.model,
    price_version: settlement.served?.priceVersion,
    charge: settlement.charge.amount.toString(),
    lines: linesJson(settlement.charge.lines),
    beyond_max_cost: settlement.beyondMaxCost === 0n ? undefined : settlement.beyondMaxCost.toString(),
    waiver_max: settlement.waiverMax?.toString(),
    metering: settlement.metering,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens || undefined,
    cache_write_tokens: usage.cacheWriteTokens || undefined,
    reasoning_tokens: usage.reasoningTokens || undefined,
    usage_source: settlement.usageSource,
    error_code: settlement.error?.code,
    error_message: settlement.error?.message,
    provider: settlement.provider,
    provider_cost: settlement.providerCost?.toString(),
    attempts: storedAttempts(settlement),
    finish_reason: settlement.finishReason,
    latency_ms: Math.round(settlement.latencyMs),
    first_token_ms: settlement.firstTokenMs === null ? undefined : Math.round(settlement.firstTokenMs),
    streamed: settlement.streamed,
    only_expired: onlyExpired,
    task: task && {
      attempt: task.attempt,
      from: task.from,
      media_ttl_ms: task.mediaTtlMs,
      keep_parameters: task.keepParameters,
      outputs: task.outputs.map((output) => ({
        index: output.index,
        variant: output.variant,
        storage_key: output.storageKey,
        media_type: output.mediaType,
        bytes: output.bytes,
        width: output.width,
        height: output.height,
        duration_ms: output.durationMs,
        sha256: output.sha256,
      })),
    },
  };
}

function linesJson(lines: Settlement['charge']['lines']): Record<string, string> {
  return Object.fromEntries(Object.entries(lines).map(([item, amount]) => [item, amount.toString()]));
}

function toMeteredJson(metered: MeteredSoFar): MeteredJson {
  const { amount, lines } = metered.charge;
  const { usage, served } = metered;
  return { amount: amount.toString(), lines: linesJson(lines), usage, ...(served && { served }) };
}

function fromMeteredJson(json: MeteredJson): MeteredSoFar {
  const lines = Object.fromEntries(
    Object.entries(json.lines).map(([item, amount]) => [item, nanoUsd(amount)]),
  );
  return { charge: { amount: nanoUsd(json.amount), lines }, usage: json.usage, served: json.served };
}
