import { invariant } from '../lib/errors.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { ReadRows } from '../store/statement.ts';
import {
  allStatements,
  closedInvoice,
  closedInvoices,
  draftInvoice,
  openInvoices,
  owedAt,
  statementLines,
  statementMonths,
  statementSums,
  statementVersions,
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
  /** The stored id; null on a draft. */
  readonly id: string | null;
  /** SHA-256 over the account's entries up to the last one, hex; null on a draft. */
  readonly digest: string | null;
  readonly period_start: Date;
  readonly period_end: Date;
  /** 1, or higher when the statement was reissued. */
  readonly version: number;
  readonly status: InvoiceStatus;
  /** The seq before its first entry, and that of its last one; null on a draft. */
  readonly opening_seq: string | null;
  readonly closing_seq: string | null;
  /** Whether the period has ended. A draft may remain one until the hourly close. */
  readonly is_over: boolean;
}

/** A closed statement, with why and by whom it was reissued. */
export interface StatementRow extends InvoiceRow {
  readonly reissue_reason: string | null;
  readonly reissued_by: string | null;
  readonly created_at: Date;
  /** Number and digests (hex) of its document; null until it is issued. */
  readonly number: number | null;
  readonly pdf_sha256: string | null;
  readonly csv_sha256: string | null;
}

/** The charges of a statement with the same day, model or key. */
export interface StatementSum {
  readonly kind: 'day' | 'model' | 'key';
  /** Null for the sum of all that are not named. */
  readonly name: string | null;
  readonly calls: string;
  /** Nano-USD. */
  readonly amount: string;
}

export interface StatementMonths {
  readonly first_unclosed: Date;
  /** The latest time an entry can have. */
  readonly now: Date;
}

/** The key of a statement within its account. */
export interface StatementVersion {
  readonly period_start: Date;
  readonly version: number;
}

export interface InvoiceFilter {
  readonly accountId: string;
  /** Month and version of the last row of the previous page. */
  readonly after: readonly string[] | undefined;
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
  readonly #readsOf: (accountId: string) => ReadRows;

  /** `readsOf` returns how rows of an account are read. */
  constructor(readsOf: (accountId: string) => ReadRows) {
    this.#readsOf = readsOf;
  }

  async months(accountId: string): Promise<StatementMonths> {
    const [row] = await this.#readsOf(accountId)<StatementMonths>(statementMonths, [accountId]);
    invariant(row, `account ${accountId} has no months`);
    return row;
  }

  /** Returns the keys of all statements ever made, including void ones. */
  versions(accountId: string): Promise<StatementVersion[]> {
    return this.#readsOf(accountId)<StatementVersion>(statementVersions, [accountId]);
  }

  /** Returns all closed statements, including void ones: newest month first, its newest version first. */
  all(accountId: string): Promise<StatementRow[]> {
    return this.#readsOf(accountId)<StatementRow>(allStatements, [accountId]);
  }

  /** Returns closed months that are not final yet, oldest first. */
  open(accountId: string): Promise<InvoiceRow[]> {
    return this.#readsOf(accountId)<InvoiceRow>(openInvoices, [accountId]);
  }

  /** Returns the charges of a statement by day, model and key. */
  sums(accountId: string, invoice: InvoiceRow): Promise<StatementSum[]> {
    const { period_start, period_end, opening_seq, closing_seq } = invoice;
    const values = [accountId, period_start, period_end, opening_seq, closing_seq];
    return this.#readsOf(accountId)<StatementSum>(statementSums, values);
  }

  /** Returns what the account owed for reversed payments at the end of a statement. */
  async owed(accountId: string, invoice: InvoiceRow): Promise<NanoUsd> {
    const values = [accountId, invoice.period_end, invoice.closing_seq];
    const [row] = await this.#readsOf(accountId)<{ owed: string }>(owedAt, values);
    return nanoUsd(row?.owed ?? 0n);
  }

  /** Returns closed months, newest first. Without a status, only statements in force. */
  closed(filter: InvoiceFilter): Promise<InvoiceRow[]> {
    const { accountId, after, status, overlapStart, overlapEnd, limit } = filter;
    const values = [
      accountId,
      after?.[0] ?? null,
      after?.[1] ?? null,
      status,
      overlapStart,
      overlapEnd,
      limit,
    ];
    return this.#readsOf(accountId)<InvoiceRow>(closedInvoices, values);
  }

  async closedMonth(accountId: string, month: StatementVersion): Promise<InvoiceRow | undefined> {
    const values = [accountId, month.period_start, month.version];
    return (await this.#readsOf(accountId)<InvoiceRow>(closedInvoice, values))[0];
  }

  /** Returns the statement of a month that is not closed, as of now. */
  async draft(accountId: string, { start, end }: Period): Promise<InvoiceRow> {
    const values = [accountId, start, end];
    const [totals] = await this.#readsOf(accountId)<InvoiceTotals & Pick<InvoiceRow, 'is_over'>>(
      draftInvoice,
      values,
    );
    invariant(totals, 'a draft has totals');
    return {
      ...totals,
      id: null,
      digest: null,
      period_start: start,
      period_end: end,
      version: 1,
      status: 'draft',
      opening_seq: null,
      closing_seq: null,
    };
  }

  /** Returns the movements of a statement, oldest first. */
  lines(
    accountId: string,
    invoice: InvoiceRow,
    after: EntryRow | undefined,
    limit: number,
  ): Promise<EntryRow[]> {
    const { period_start, period_end, opening_seq, closing_seq } = invoice;
    const position = [after?.at_text ?? null, after?.seq ?? null];
    const values = [accountId, period_start, period_end, ...position, limit, opening_seq, closing_seq];
    return this.#readsOf(accountId)<EntryRow>(statementLines, values);
  }
}
