import type { Sequelize } from 'sequelize';
import type { Period } from '../../billing/invoices.read-model.ts';
import { AppError, invariant } from '../../lib/errors.ts';
import { readRows } from '../../store/report.ts';
import {
  accountsForCredits,
  agedDebts,
  archivedMonths,
  creditMovements,
  deferredRevenue,
  marginRows,
  payouts,
  pricePeriods,
  writeOffs,
} from './book-reports.sql.ts';
import type { CreditMovement } from './credit-kinds.ts';

/** Amounts in all rows are nano-USD as decimal text. */
export interface DeferredRevenueRow {
  readonly credits: string;
  readonly receivable: string;
  /** Accounts with a balance. */
  readonly accounts: number;
}

export interface AgedDebtRow {
  readonly account_id: string;
  readonly name: string;
  readonly oldest_at: Date;
  readonly owed: string;
  readonly under_30_days: string;
  readonly under_60_days: string;
  readonly under_90_days: string;
  readonly older: string;
}

export interface MarginRow {
  readonly month: string;
  readonly period_start: Date;
  /** Null unless grouped by it. */
  readonly model: string | null;
  readonly endpoint: string | null;
  /** Also null if no provider was called. */
  readonly provider: string | null;
  readonly account_id: string | null;
  readonly calls: number;
  readonly failed_calls: number;
  readonly calls_without_cost: number;
  readonly charged_without_cost: string;
  readonly charged: string;
  readonly refunded: string;
  readonly refunded_without_cost: string;
  readonly provider_cost: string;
  readonly margin: string;
}

/** In the order of the statement's parameters. */
export const MARGIN_GROUPS = ['model', 'endpoint', 'provider', 'account'] as const;
export type MarginGroup = (typeof MARGIN_GROUPS)[number];

/** How the margin is broken down. */
export interface MarginDetail {
  readonly granularity: 'all' | 'month' | 'day';
  readonly groups: readonly MarginGroup[];
}

export interface WriteOffRow {
  readonly month: string;
  readonly reason: string;
  readonly count: number;
  readonly amount: string;
}

/** A movement of a payment at its provider; amounts are in the smallest unit of the currency. */
export interface PaymentMoveRow {
  readonly id: string;
  readonly kind: string;
  readonly amount: number;
  readonly fee: number;
  readonly currency: string;
  readonly exchange_rate: number | null;
  readonly created_at: string;
  readonly available_at: string;
  readonly payout_id: string | null;
  readonly arrives_at: string | null;
}

export interface PayoutRow {
  /** Id of the checkout session, or of the ledger entry for a bank payment. */
  readonly id: string;
  readonly has_session: boolean;
  readonly provider: string;
  readonly payment_id: string | null;
  readonly account_id: string;
  readonly last_at: Date;
  readonly received: string;
  readonly taken_back: string;
  readonly given_back: string;
  readonly net: string;
  readonly moves: readonly PaymentMoveRow[];
}

export interface PricePeriodRow {
  readonly id: string;
  readonly model: string;
  readonly price_version: string | null;
  readonly pricing: Readonly<Record<string, string>> | null;
  readonly starts_at: Date;
  readonly ends_at: Date | null;
  readonly actor: string;
}

/** Reports over the whole ledger, for bookkeepers. */
export class BookReportsReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  async deferredRevenue(at: Date): Promise<DeferredRevenueRow> {
    const [row] = await readRows<DeferredRevenueRow>(this.#sequelize, deferredRevenue, [at]);
    invariant(row, 'sums are always there');
    return row;
  }

  /** Lists debts by account, above `after`. */
  agedDebts(at: Date, after: string | null, limit: number): Promise<AgedDebtRow[]> {
    return readRows<AgedDebtRow>(this.#sequelize, agedDebts, [at, after, limit]);
  }

  /**
   * Lists margins by period and groups, in that order. No call with an id below `leastId` can have ended in the range. Throws
   * AppError invalid_request where calls of the range are archived.
   */
  async margin(
    { start, end }: Period,
    leastId: string,
    by: MarginDetail,
    limit: number,
  ): Promise<MarginRow[]> {
    const archived = await readRows<{ month: string }>(this.#sequelize, archivedMonths, [start, end]);
    if (archived.length > 0) {
      const months = archived.map(({ month }) => month).join(', ');
      throw new AppError(
        'invalid_request',
        `The calls of ${months} are archived: choose another period, or run \`tollgate archive restore\` first.`,
      );
    }
    const { granularity, groups } = by;
    return await readRows<MarginRow>(this.#sequelize, marginRows, [
      ...[start, end, leastId, granularity === 'all' ? null : granularity],
      ...MARGIN_GROUPS.map((group) => groups.includes(group)),
      limit,
    ]);
  }

  writeOffs({ start, end }: Period): Promise<WriteOffRow[]> {
    return readRows<WriteOffRow>(this.#sequelize, writeOffs, [start, end]);
  }

  /** Lists payments above `after`, by id. */
  payouts({ start, end }: Period, after: string | null, limit: number): Promise<PayoutRow[]> {
    return readRows<PayoutRow>(this.#sequelize, payouts, [start, end, after, limit]);
  }

  /** Lists accounts above `after`, by id. */
  accounts(after: string | null, limit: number): Promise<{ readonly id: string; readonly name: string }[]> {
    return readRows(this.#sequelize, accountsForCredits, [after, limit]);
  }

  /** Lists the movements of an account up to the end of a period, in order. */
  creditMovements(accountId: string, { start, end }: Period): Promise<CreditMovement[]> {
    return readRows<CreditMovement>(this.#sequelize, creditMovements, [accountId, end, start]);
  }

  /** Lists price periods below `before`, newest first; with an instant, only the periods that contain it. */
  prices(
    filter: { readonly model: string | null; readonly at: Date | null },
    before: string | null,
    limit: number,
  ): Promise<PricePeriodRow[]> {
    return readRows<PricePeriodRow>(this.#sequelize, pricePeriods, [filter.model, filter.at, before, limit]);
  }
}
