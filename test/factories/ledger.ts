import { createHash, randomBytes } from 'node:crypto';
import type { LaneObserver } from '../../src/ledger/commit-lane.ts';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import type { HoldRequest, Settlement, TaskEnding } from '../../src/ledger/ledger.types.ts';
import { type Movement, Movements } from '../../src/ledger/movements.ts';
import { newOwnedUuid, newUuid } from '../../src/lib/ids.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { type NanoUsd, nanoUsd, parseUsd, ZERO_USD } from '../../src/lib/money.ts';
import { NO_USAGE } from '../../src/lib/usage.ts';
import type { Database } from '../../src/store/database.ts';

export const silentLog = createLogger({ name: 'test', level: 'silent' });

export const silentObserver: LaneObserver = {
  batchSent: () => undefined,
  sendFailed: () => undefined,
  itemQuarantined: () => undefined,
};

/** Parses USD text into nano-USD, for amounts in tests. */
export function usd(text: string): NanoUsd {
  const amount = parseUsd(text);
  if (amount === undefined) {
    throw new Error(`${text} is not an amount`);
  }
  return amount;
}

export function testLedger(database: Database, observer: LaneObserver = silentObserver): PostgresLedger {
  return new PostgresLedger(new LedgerStore(database.money), silentLog, observer);
}

export interface TestAccount {
  readonly accountId: string;
  readonly apiKeyId: string;
}

/** Creates an account with a balance (USD text) and one key, optionally with a limit (USD text). */
export async function fundedAccount(
  database: Database,
  credits: string,
  limit?: string,
): Promise<TestAccount> {
  const accountId = newUuid();
  const movements = new Movements(() => database.money);
  await movements.openAccount(accountId, 'test account');
  if (credits !== '0') {
    await movements.adjust({ accountId, reference: newUuid(), description: 'opening credits' }, usd(credits));
  }
  return { accountId, apiKeyId: await testKey(database, accountId, limit) };
}

/** Posts a purchase without a checkout session. Posting the same reference again changes nothing. */
export async function purchaseCredits(
  database: Database,
  { accountId, reference, description }: Movement,
  amount: NanoUsd,
): Promise<string> {
  const { rows } = await database.money.query<{ outcome: string }>(
    'SELECT ledger_purchase($1, $2, $3, $4) AS outcome',
    [accountId, reference, amount.toString(), description],
  );
  return rows[0]!.outcome;
}

export async function testKey(database: Database, accountId: string, limit?: string): Promise<string> {
  const id = newOwnedUuid(accountId);
  const nano = limit === undefined ? null : usd(limit).toString();
  await database.money.query(
    `INSERT INTO api_keys (id, account_id, hash, name, label, role, limit_nano, cap_nano)
     VALUES ($1, $2, $3, 'test key', 'test', 'owner', $4, $4)`,
    [id, accountId, createHash('sha256').update(randomBytes(16)).digest('hex'), nano],
  );
  return id;
}

export function holdRequest(
  account: TestAccount,
  amount: NanoUsd,
  changes: Partial<HoldRequest> = {},
): HoldRequest {
  return {
    id: newOwnedUuid(account.accountId),
    ...account,
    requestId: 'req_test',
    endpoint: '/api/v1/chat/completions',
    model: 'tollgate/small',
    priceVersion: 'test',
    amount,
    minimum: amount,
    ...changes,
  };
}

export function settlement(
  hold: { id: string; accountId: string; apiKeyId: string },
  amount: NanoUsd,
  changes: Partial<Settlement> = {},
): Settlement {
  return {
    holdId: hold.id,
    accountId: hold.accountId,
    apiKeyId: hold.apiKeyId,
    status: 'completed',
    charge: { amount, lines: amount > 0n ? { request: amount } : {} },
    beyondMaxCost: ZERO_USD,
    usage: { ...NO_USAGE, inputTokens: 10, outputTokens: 5 },
    usageSource: 'provider',
    error: null,
    provider: 'test',
    providerCost: nanoUsd(0n),
    attempts: [],
    finishReason: 'stop',
    latencyMs: 12,
    firstTokenMs: null,
    streamed: false,
    ...changes,
  };
}

export function taskEnding(attempt: number | null, from: readonly string[]): TaskEnding {
  return { attempt, from, outputs: [], mediaTtlMs: 86_400_000, keepParameters: false };
}
