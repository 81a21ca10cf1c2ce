import type { BucketRange } from '../http/input/time-range.ts';
import type { UsageColumns } from '../http/input/wire-shapes.ts';
import type { LineItem } from '../ledger/ledger.types.ts';
import { idAt } from '../lib/ids.ts';
import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import { chargesByBalance, sumOfCharges } from './ledger-total.sql.ts';
import { reportPieces, totalPieces } from './report-pieces.ts';
import { type ScanWindow, scanForward } from './scan-forward.ts';
import {
  activityRows,
  costRows,
  filledUntil,
  performanceRows,
  totalCostRows,
  usageRows,
} from './usage.sql.ts';

interface PeriodRow {
  readonly period_start: Date;
  readonly model: string;
  readonly api_key_id: string;
  readonly api_key_hash: string;
}

/** Counts arrive as decimal text. */
export interface UsageSums extends PeriodRow, UsageColumns {
  readonly requests: string;
}

/** `charge` in nano-USD as decimal text. */
export interface ActivitySums extends UsageSums {
  readonly endpoint: string;
  readonly charge: string;
}

/** `amount` is nano-USD as decimal text. Columns that are not grouped by are null. */
export interface CostSums {
  readonly period_start: Date;
  readonly model: string | null;
  readonly api_key_id: string | null;
  readonly api_key_hash: string | null;
  readonly endpoint: string | null;
  readonly position: number;
  readonly line_item: LineItem;
  readonly amount: string;
}

/** Speed of the calls of a period. Null where no call has such a time. */
export interface SpeedSums {
  readonly period_start: Date;
  readonly model: string;
  readonly requests: number;
  readonly failed: number;
  /** Median and 95th percentile, in ms. */
  readonly first_token: readonly [number, number] | null;
  readonly latency: readonly [number, number] | null;
  readonly tokens_per_second: number | null;
}

/** Maximum calls, newest first, that the speed of a range is computed from: enough for percentiles, and it bounds the work. */
const CALLS_MAX = 50_000;
/** Maximum charges added up one by one for the ledger's total of a range. Takes a fraction of a second. */
const CHARGES_MAX = 200_000;
/** How far the clocks of a process and the database may differ, in ms. */
const CLOCK_SLACK_MS = 60_000;

/** How far an account's hours and days are filled. */
interface Mark {
  readonly filled_until: Date;
  /** Whether the totals of those hours are filled, too. */
  readonly has_totals: boolean;
}

const NOTHING_FILLED: Mark = { filled_until: new Date(0), has_totals: true };

interface LedgerTotal {
  readonly amount: string | null;
}

export interface ReportScope {
  readonly accountId: string;
  /** Null for all keys. */
  readonly apiKeyId: string | null;
  readonly range: BucketRange;
  readonly limit: number;
}

/**
 * Reports from the five-minute roll-ups, which the settling transaction itself writes, and from hours and days where those are filled.
 * Sums never read generations.
 */
export class UsageReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns rows by period, model and key, after the position [period, model, key id]. */
  async usage(
    scope: ReportScope,
    model: string | null,
    after: readonly string[] | undefined,
  ): Promise<UsageSums[]> {
    const { accountId, apiKeyId, range } = scope;
    const [period = null, ...rest] = after ?? [];
    const pieces = await this.#pieces(scope);
    return scanForward(range, resumeAt(range, period), scope.limit, (window, limit) =>
      readRows<UsageSums>(this.#cells.of(accountId).sequelize, usageRows, [
        ...[accountId, ...pieces(window), interval(range), apiKeyId, model],
        ...[period, rest[0] ?? null, rest[1] ?? null, limit],
      ]),
    );
  }

  /** Returns rows by day, endpoint, model and key, after the position [period, endpoint, model, key id]. */
  async activity(scope: ReportScope, after: readonly string[] | undefined): Promise<ActivitySums[]> {
    const { accountId, apiKeyId, range } = scope;
    const [period = null, ...rest] = after ?? [];
    const pieces = await this.#pieces(scope);
    return scanForward(range, resumeAt(range, period), scope.limit, (window, limit) =>
      readRows<ActivitySums>(this.#cells.of(accountId).sequelize, activityRows, [
        ...[accountId, ...pieces(window), apiKeyId],
        ...[period, rest[0] ?? null, rest[1] ?? null, rest[2] ?? null, limit],
      ]),
    );
  }

  /** Returns rows by period, groups and line item, after the position [period, model, key id, endpoint, item number]. */
  async costs(
    scope: ReportScope,
    by: { readonly model: boolean; readonly apiKey: boolean; readonly endpoint: boolean },
    after: readonly string[] | undefined,
  ): Promise<CostSums[]> {
    const { accountId, apiKeyId, range } = scope;
    const [period = null, ...rest] = after ?? [];
    const mark = await this.#mark(scope);
    const isTotal = apiKeyId === null && !by.model && !by.apiKey && !by.endpoint;
    if (isTotal && mark.has_totals) {
      return this.#totalCosts(scope, mark, [period, rest[3] ?? null]);
    }
    return scanForward(range, resumeAt(range, period), scope.limit, (window, limit) =>
      readRows<CostSums>(this.#cells.of(accountId).sequelize, costRows, [
        ...[accountId, ...reportPieces(window, range.bucketMs, mark.filled_until)],
        ...[interval(range), apiKeyId, by.model, by.apiKey, by.endpoint],
        ...[period, rest[0] ?? null, rest[1] ?? null, rest[2] ?? null, rest[3] ?? null, limit],
      ]),
    );
  }

  #totalCosts(
    { accountId, range, limit: rowsMax }: ReportScope,
    mark: Mark,
    [period, item]: readonly [string | null, string | null],
  ): Promise<CostSums[]> {
    return scanForward(range, resumeAt(range, period), rowsMax, (window, limit) =>
      readRows<CostSums>(this.#cells.of(accountId).sequelize, totalCostRows, [
        ...[accountId, ...totalPieces(window, range.bucketMs, mark.filled_until)],
        ...[interval(range), period, item, limit],
      ]),
    );
  }

  /** Returns rows by period and model, after the position [period, model]. Reads the calls themselves, at most {@link CALLS_MAX}. */
  speed(
    { accountId, apiKeyId, range, limit }: ReportScope,
    model: string | null,
    after: readonly string[] | undefined,
  ): Promise<SpeedSums[]> {
    const ids = [range.start.getTime() - CLOCK_SLACK_MS, range.end.getTime() + CLOCK_SLACK_MS].map(idAt);
    return readRows<SpeedSums>(this.#cells.of(accountId).sequelize, performanceRows, [
      ...[accountId, ...ids, range.start, range.end, interval(range), apiKeyId, model],
      ...[after?.[0] ?? null, after?.[1] ?? null, limit, CALLS_MAX],
    ]);
  }

  /**
   * Returns what the ledger itself charged, in nano-USD as decimal text: the sum of its entries, independent of the roll-ups. With more
   * than `chargesMax` entries it is derived from the change of the balance without all other entries; null for a single key then, which
   * has no balance.
   */
  async ledgerTotal(
    { accountId, apiKeyId, range }: Omit<ReportScope, 'limit'>,
    chargesMax = CHARGES_MAX,
  ): Promise<string | null> {
    const { sequelize } = this.#cells.of(accountId);
    const span = [accountId, range.start, range.end];
    const [sum] = await readRows<LedgerTotal>(sequelize, sumOfCharges, [...span, apiKeyId, chargesMax]);
    if (!sum || sum.amount !== null || apiKeyId !== null) {
      return sum?.amount ?? null;
    }
    const [rest] = await readRows<LedgerTotal>(sequelize, chargesByBalance, span);
    return rest?.amount ?? null;
  }

  /** Returns how to split a window. */
  async #pieces(scope: ReportScope): Promise<(window: ScanWindow) => Date[]> {
    const { filled_until } = await this.#mark(scope);
    return (window) => reportPieces(window, scope.range.bucketMs, filled_until);
  }

  /** The mark may be older than the rows: it only moves forward, and nothing before it ever changes. */
  async #mark({ accountId }: ReportScope): Promise<Mark> {
    const [mark] = await readRows<Mark>(this.#cells.of(accountId).sequelize, filledUntil, [accountId]);
    return mark ?? NOTHING_FILLED;
  }
}

function resumeAt(range: BucketRange, period: string | null): Date {
  return period === null ? range.start : new Date(period);
}

function interval(range: BucketRange): string {
  return `${range.bucketMs / 1000} seconds`;
}
