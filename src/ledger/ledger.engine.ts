import { AppError, type ErrorCode, InvariantError } from '../lib/errors.ts';
import { bucketOf, publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { formatUsd, type NanoUsd, nanoUsd, ZERO_USD } from '../lib/money.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import { NO_USAGE } from '../lib/usage.ts';
import { CommitLane, type LaneObserver } from './commit-lane.ts';
import { HOLD_TTL_MS, HoldLeases } from './hold-leases.ts';
import type { LedgerStore, ReserveRow, SettlementItem, SettleRow, SpendableFunds } from './ledger.store.ts';
import type { Hold, HoldRequest, Ledger, MeteredSoFar, Settlement, SettleResult } from './ledger.types.ts';

/**
 * Lanes of each kind in a process that admits calls. An account always uses the same lane. Measured: a single lane carries half as much
 * when calls come from many accounts, and more than two only shrink the batches.
 */
export const ADMITTING_LANES = 2;
/** The same in a process that only ends tasks: fewer statements with more tasks each end a quarter more tasks per second. */
export const ENDING_LANES = 1;
const BATCH_ITEMS_MAX = 256;
const RESERVE_QUEUE_ITEMS_MAX = 1_000;
/** Maximum wait of a reservation, in ms. Longer waits are rejected. */
const RESERVE_GIVE_UP_MS = 3_000;

const REFUSALS: Readonly<Record<string, { code: ErrorCode; message: string }>> = {
  invalid_api_key: { code: 'invalid_api_key', message: 'The API key is not valid.' },
  key_disabled: { code: 'key_disabled', message: 'The API key is disabled.' },
  key_expired: { code: 'key_expired', message: 'The API key has expired.' },
  account_suspended: { code: 'account_suspended', message: 'The account is suspended.' },
  model_not_allowed: { code: 'model_not_allowed', message: 'This key may not use this model.' },
};

/** Observes the ledger, for metrics, traces and the log. */
export interface LedgerObserver extends LaneObserver {
  /** Wraps a reservation: `run` makes it, possibly with more data for its task to keep. */
  readonly reserving?: (request: HoldRequest, run: (request: HoldRequest) => Promise<Hold>) => Promise<Hold>;
  /** Wraps a settlement. */
  readonly settling?: (settlement: Settlement, run: () => Promise<SettleResult>) => Promise<SettleResult>;
}

/** The ledger on Postgres: admission and settlement through group-commit lanes, leases, extensions. */
export class PostgresLedger implements Ledger {
  readonly #store: LedgerStore;
  readonly #log: Logger;
  readonly #observer: LedgerObserver;
  readonly #leases: HoldLeases;
  readonly #reserveLanes: CommitLane<HoldRequest, ReserveRow>[];
  readonly #settleLanes: CommitLane<SettlementItem, SettleRow>[];
  #isCrowded: () => boolean = () => false;

  constructor(store: LedgerStore, log: Logger, observer: LedgerObserver, lanes = ADMITTING_LANES) {
    this.#store = store;
    this.#log = log;
    this.#observer = observer;
    this.#leases = new HoldLeases(store, log);
    const isCrowded = () => this.#isCrowded();
    const numbers = Array.from({ length: lanes }, (_, lane) => lane);
    this.#reserveLanes = numbers.map(
      (lane) =>
        new CommitLane({
          name: `reserve-${lane}`,
          send: (requests) => store.reserve(requests, HOLD_TTL_MS),
          groupOf: (request) => request.accountId,
          batchItemsMax: BATCH_ITEMS_MAX,
          queueItemsMax: RESERVE_QUEUE_ITEMS_MAX,
          giveUpAfterMs: RESERVE_GIVE_UP_MS,
          isCrowded,
          onLate: (request, row) => this.#releaseLate(request, row),
          observer,
        }),
    );
    this.#settleLanes = numbers.map(
      (lane) =>
        new CommitLane({
          name: `settle-${lane}`,
          send: (items) => store.settle(items),
          groupOf: ({ settlement }) => settlement.accountId,
          batchItemsMax: BATCH_ITEMS_MAX,
          // a settlement is never dropped; their number is bounded by the holds granted to this process
          queueItemsMax: Number.POSITIVE_INFINITY,
          giveUpAfterMs: Number.POSITIVE_INFINITY,
          isCrowded,
          observer,
        }),
    );
  }

  /** Lets batches gather longer whenever `isCrowded` returns true: while calls wait for their turn to begin. */
  gatherWhile(isCrowded: () => boolean): void {
    this.#isCrowded = isCrowded;
  }

  /** Number of waiting items per kind of lane. */
  get depth(): { reserve: number; settle: number } {
    return { reserve: totalDepth(this.#reserveLanes), settle: totalDepth(this.#settleLanes) };
  }

  /** How far the database lags behind this process: the longest time an item has been in a lane, in ms. */
  get delayMs(): number {
    return Math.max(...[...this.#reserveLanes, ...this.#settleLanes].map((lane) => lane.delayMs));
  }

  /** Number of live holds of this process. */
  get liveHolds(): number {
    return this.#leases.size;
  }

  reserve(request: HoldRequest, signal?: StopSignal): Promise<Hold> {
    const run = (observed: HoldRequest) => this.#reserve(observed, signal);
    return this.#observer.reserving ? this.#observer.reserving(request, run) : run(request);
  }

  async #reserve(request: HoldRequest, signal?: StopSignal): Promise<Hold> {
    const row = await laneOf(this.#reserveLanes, request.accountId).submit(request, signal);
    if (row.outcome === 'held' && row.granted !== null) {
      return {
        id: request.id,
        accountId: request.accountId,
        apiKeyId: request.apiKeyId,
        granted: row.granted,
      };
    }
    if (row.outcome === 'insufficient_credits' || row.outcome === 'key_limit_exceeded') {
      const funds = await this.#store.spendable(request.accountId, request.apiKeyId);
      throw uncovered(row.outcome, request.minimum, funds);
    }
    throw refusal(row.outcome, request);
  }

  async requireFunds(accountId: string, apiKeyId: string, amount?: NanoUsd): Promise<void> {
    const funds = await this.#store.spendable(accountId, apiKeyId);
    const least = amount ?? nanoUsd(1n);
    if (funds.account < least) {
      throw uncovered('insufficient_credits', amount, funds);
    }
    if (funds.key !== null && funds.key < least) {
      throw uncovered('key_limit_exceeded', amount, funds);
    }
  }

  extend(hold: Hold, amount: NanoUsd): Promise<NanoUsd | undefined> {
    return this.#store.extend(hold, amount);
  }

  settle(settlement: Settlement): Promise<SettleResult> {
    const run = () => this.#settle(settlement);
    return this.#observer.settling ? this.#observer.settling(settlement, run) : run();
  }

  async #settle(settlement: Settlement): Promise<SettleResult> {
    const row = await this.#submitSettlement({ settlement, onlyExpired: false });
    if (row.outcome === 'open' || row.outcome === 'unknown') {
      throw new InvariantError(`hold ${settlement.holdId} cannot be settled: ${row.outcome}`);
    }
    const result = resultOf(settlement, row.outcome, row.charge);
    if (result.shortfall > 0n) {
      const shortfall = formatUsd(result.shortfall);
      this.#log.warn(
        { generationId: publicId('generation', settlement.holdId), shortfall },
        'a call cost more than could be charged',
      );
    }
    return result;
  }

  /** Settles a hold whose lease ran out, unless it was renewed meanwhile. Returns whether this call closed it. */
  async settleExpired(settlement: Settlement): Promise<boolean> {
    const row = await this.#submitSettlement({ settlement, onlyExpired: true });
    return row.outcome === 'settled';
  }

  keepAlive(hold: Hold, metered: () => MeteredSoFar): () => void {
    return this.#leases.add(hold.id, metered);
  }

  /** Waits until every submitted settlement has committed, then stops renewing leases. The caller bounds the time. */
  async close(): Promise<void> {
    await Promise.all([...this.#reserveLanes, ...this.#settleLanes].map((lane) => lane.flush()));
    await this.#leases.close();
  }

  #submitSettlement(item: SettlementItem): Promise<SettleRow> {
    return laneOf(this.#settleLanes, item.settlement.accountId).submit(item);
  }

  /**
   * Releases a hold granted after its caller was rejected: nobody will use it, and a task that nobody knows of must not be
   * charged. A task already claimed by a worker continues: it is in the account's list of tasks.
   */
  #releaseLate(request: HoldRequest, row: ReserveRow): void {
    if (row.outcome === 'held' && row.granted !== null) {
      this.settle(unusedSettlement(request)).catch((error: unknown) =>
        this.#log.warn(
          { error, generationId: publicId('generation', request.id) },
          'an unused hold was not released',
        ),
      );
    }
  }
}

/** Splits the requested charge into what was charged, waived and lost. */
function resultOf(settlement: Settlement, outcome: SettleResult['outcome'], charge: NanoUsd): SettleResult {
  const missing = outcome === 'settled' ? nanoUsd(settlement.charge.amount - charge) : ZERO_USD;
  const waived = settlement.waiverMax !== undefined && charge === 0n;
  return {
    outcome,
    charge,
    shortfall: waived ? ZERO_USD : missing,
    waived: waived ? missing : ZERO_USD,
  };
}

function refusal(outcome: string, request: HoldRequest): AppError {
  if (outcome === 'closed') {
    const generation = publicId('generation', request.id);
    return new AppError(
      'idempotency_completed',
      `This request has already been carried out; see generation ${generation}.`,
    );
  }
  return refused(outcome);
}

const RENEWALS = {
  daily: 'at 00:00 UTC',
  weekly: 'on Monday, 00:00 UTC',
  monthly: 'on the first of the month, 00:00 UTC',
};

/** All these messages start with the same words, by which clients recognize the state. */
function uncovered(
  code: 'insufficient_credits' | 'key_limit_exceeded',
  needed: NanoUsd | undefined,
  { account, key, reset, debt }: SpendableFunds,
): AppError {
  if (debt > 0n) {
    const owed = `the account owes ${formatUsd(debt)} USD for a reversed payment`;
    return new AppError(code, `Insufficient credits: ${owed}; calls are possible again once it is paid.`);
  }
  const isKey = code === 'key_limit_exceeded';
  const free = (isKey ? key : account) ?? ZERO_USD;
  const left = formatUsd(free > 0n ? free : ZERO_USD);
  const whose = isKey ? 'the limit of this API key leaves' : 'the account has';
  const needs = needed === undefined ? '' : `this call needs ${formatUsd(needed)} USD and `;
  const renewal = reset === null ? '' : ` or wait until it renews (${RENEWALS[reset]})`;
  const remedy = isKey ? `raise the limit of the key${renewal}` : 'add credits';
  return new AppError(
    code,
    `Insufficient credits: ${needs}${whose} ${left} USD free. ` +
      `To continue, ${remedy}, or reduce the request (a shorter input, a lower max_tokens).`,
  );
}

function refused(outcome: string): AppError {
  const known = REFUSALS[outcome];
  return known
    ? new AppError(known.code, known.message)
    : new AppError('internal_error', 'The call could not be admitted.', {
        cause: new Error(`outcome ${outcome}`),
      });
}

function unusedSettlement({ id, accountId, apiKeyId, task }: HoldRequest): Settlement {
  const unclaimed = { attempt: null, from: ['queued'], outputs: [], mediaTtlMs: 0, keepParameters: false };
  return {
    holdId: id,
    accountId,
    apiKeyId,
    ...(task && { task: unclaimed }),
    status: task ? 'cancelled' : 'failed',
    charge: { amount: ZERO_USD, lines: {} },
    beyondMaxCost: ZERO_USD,
    usage: NO_USAGE,
    usageSource: 'none',
    error: { code: 'service_unavailable', message: 'The ledger answered after the call had been rejected.' },
    provider: null,
    providerCost: null,
    attempts: [],
    finishReason: null,
    latencyMs: RESERVE_GIVE_UP_MS,
    firstTokenMs: null,
    streamed: false,
  };
}

function laneOf<Lane>(lanes: readonly Lane[], accountId: string): Lane {
  const lane = lanes[bucketOf(accountId) % lanes.length];
  if (lane === undefined) {
    throw new InvariantError(`account id ${accountId} names no lane`);
  }
  return lane;
}

function totalDepth(lanes: readonly { depth: number }[]): number {
  return lanes.reduce((total, lane) => total + lane.depth, 0);
}
