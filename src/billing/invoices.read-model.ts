import type { Sequelize } from 'sequelize';
import { invariant } from '../lib/invariant.ts';
import { readRows } from '../store/report.ts';
import {
  closedInvoice,
  closedInvoices,
  draftInvoice,
  statementLines,
  statementMonths,
} from './invoices.sql.ts';
import type { EntryRow } from './transactions.read-model.ts';

export type InvoiceStatus = 'draft' | 'open' | 'paid' | 'void' | 'uncollectible';

/** Totals in nano-USD as decimal text. */
interface InvoiceTotals {
  readonly opening: string;
  readonly purchases: string;
  readonly usage: string;
  readonly refunds: string;
  readonly adjustments: string;
  readonly closing: string;
}

export interface InvoiceRow extends InvoiceTotals {
  readonly period_start: Date;
  readonly period_end: Date;
  readonly status: InvoiceStatus;
}

export interface StatementMonths {
  readonly first_month: Date;
  readonly first_unclosed: Date;
}

export interface InvoiceFilter {
  readonly accountId: string;
  /** Only months that begin before it. */
  readonly before: Date | null;
  readonly status: InvoiceStatus | null;
  readonly overlapStart: Date | null;
  readonly overlapEnd: Date | null;
  readonly limit: number;
}

export interface Period {
  readonly start: Date;
  readonly end: Date;
}

export class InvoicesReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  async months(accountId: string): Promise<StatementMonths> {
    const [row] = await readRows<StatementMonths>(this.#sequelize, statementMonths, [accountId]);
    invariant(row, `account ${accountId} has no months`);
    return row;
  }

  /** Closed months, newest first. */
  closed(filter: InvoiceFilter): Promise<InvoiceRow[]> {
    const { accountId, before, status, overlapStart, overlapEnd, limit } = filter;
    const values = [accountId, before, status, overlapStart, overlapEnd, limit];
    return readRows<InvoiceRow>(this.#sequelize, closedInvoices, values);
  }

  async closedMonth(accountId: string, start: Date): Promise<InvoiceRow | undefined> {
    return (await readRows<InvoiceRow>(this.#sequelize, closedInvoice, [accountId, start]))[0];
  }

  /** The statement of a month that is not closed, as of now. */
  async draft(accountId: string, { start, end }: Period): Promise<InvoiceRow> {
    const [totals] = await readRows<InvoiceTotals>(this.#sequelize, draftInvoice, [accountId, start, end]);
    invariant(totals, 'a draft has totals');
    return { ...totals, period_start: start, period_end: end, status: 'draft' };
  }

  /** Movements of a period, oldest first. */
  lines(accountId: string, period: Period, after: EntryRow | undefined, limit: number): Promise<EntryRow[]> {
    const values = [accountId, period.start, period.end, after?.at_text ?? null, after?.seq ?? null, limit];
    return readRows<EntryRow>(this.#sequelize, statementLines, values);
  }
}
