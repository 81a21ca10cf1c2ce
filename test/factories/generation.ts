import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import type { ChargeLines, GenerationStatus, LineItem } from '../../src/ledger/ledger.types.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { type NanoUsd, nanoUsd, sumUsd } from '../../src/lib/money.ts';
import { NO_USAGE, type TokenUsage } from '../../src/lib/usage.ts';
import type { Database } from '../../src/store/database.ts';
import { silentLog, silentObserver, usd } from './ledger.ts';

export interface TestGeneration {
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Default: an id of the current time. */
  readonly id?: string;
  /** USD text, charged entirely on the line `input` unless `lines` are given. */
  readonly charge?: string;
  readonly lines?: Readonly<Partial<Record<LineItem, NanoUsd>>>;
  readonly usage?: TokenUsage;
  readonly status?: GenerationStatus;
  readonly endpoint?: string;
  readonly model?: string;
  /** The provider that answered; null: none did. */
  readonly provider?: string | null;
  readonly requestId?: string;
  /** Time to the end, and to the first token of a stream, in ms. */
  readonly latencyMs?: number;
  readonly firstTokenMs?: number;
  readonly error?: { readonly code: string; readonly message: string };
}

/** Creates a finished generation, held and settled through the ledger like a real one. Returns its id. */
export async function createGeneration(database: Database, options: TestGeneration): Promise<string> {
  const ledger = new PostgresLedger(new LedgerStore(database.money), silentLog, silentObserver);
  const lines: ChargeLines = options.lines ?? (options.charge ? { input: usd(options.charge) } : {});
  const amount = sumUsd(Object.values(lines));
  const hold = await ledger.reserve({
    id: options.id ?? newUuid(),
    accountId: options.accountId,
    apiKeyId: options.apiKeyId,
    requestId: options.requestId ?? 'req_test',
    endpoint: options.endpoint ?? '/api/v1/chat/completions',
    model: options.model ?? 'acme/small',
    priceVersion: 'test',
    amount: nanoUsd(amount + 1n),
    minimum: nanoUsd(amount + 1n),
  });
  await ledger.settle({
    holdId: hold.id,
    accountId: options.accountId,
    apiKeyId: options.apiKeyId,
    status: options.status ?? 'completed',
    charge: { amount, lines },
    beyondMaxCost: nanoUsd(0),
    usage: options.usage ?? { ...NO_USAGE, inputTokens: 10, outputTokens: 5 },
    usageSource: 'provider',
    error: options.error ?? null,
    provider: options.provider === undefined ? 'builtin' : options.provider,
    providerCost: null,
    attempts: [],
    finishReason: 'stop',
    latencyMs: options.latencyMs ?? 12,
    firstTokenMs: options.firstTokenMs ?? null,
    streamed: options.firstTokenMs !== undefined,
  });
  return hold.id;
}
