import { decodeCursor } from '../http/cursor.ts';
import { FieldError } from '../http/field-error.ts';
import { cutPage, type Page } from '../http/page.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { invoiceId, nextMonthStart } from './invoice-id.ts';
import type { InvoiceRow, InvoicesReadModel } from './invoices.read-model.ts';
import type { ListInvoicesQuery } from './invoices.schema.ts';
import type { EntryRow } from './transactions.read-model.ts';

const TIME_PART = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const LINES_PER_READ = 1_000;

/** The statements of an account: one per UTC month, closed ones from the table, running ones computed. */
export class InvoicesService {
  readonly #readModel: InvoicesReadModel;
  readonly #clock: Clock;

  constructor(readModel: InvoicesReadModel, clock: Clock) {
    this.#readModel = readModel;
    this.#clock = clock;
  }

  /** Newest first, the running month's draft included. */
  async list(accountId: string, query: ListInvoicesQuery): Promise<Page<InvoiceRow>> {
    const { status = null, period_start: overlapStart = null, period_end: overlapEnd = null } = query;
    if (overlapStart && overlapEnd && overlapStart > overlapEnd) {
      throw new FieldError('period_start', 'must not be after period_end');
    }
    const [cursor] = query.cursor === undefined ? [] : decodeCursor(query.cursor, [TIME_PART]);
    const before = cursor === undefined ? null : new Date(cursor);
    const filter = { accountId, before, status, overlapStart, overlapEnd, limit: query.limit + 1 };
    const drafts = status === null || status === 'draft' ? await this.#drafts(accountId) : [];
    const wanted = drafts.filter(
      (row) =>
        (before === null || row.period_start < before) &&
        (overlapStart === null || row.period_end > overlapStart) &&
        (overlapEnd === null || row.period_start < overlapEnd),
    );
    const closed = status === 'draft' ? [] : await this.#readModel.closed(filter);
    return cutPage([...wanted, ...closed], query.limit, (row) => [row.period_start.toISOString()]);
  }

  /** Throws AppError invoice_not_found. */
  async get(accountId: string, id: string): Promise<InvoiceRow> {
    const { first_month: first, first_unclosed: unclosed } = await this.#readModel.months(accountId);
    const month = this.#monthsFrom(first).find((start) => invoiceId(accountId, start) === id);
    const row =
      month && month >= unclosed
        ? await this.#readModel.draft(accountId, { start: month, end: nextMonthStart(month) })
        : month && (await this.#readModel.closedMonth(accountId, month));
    if (!row) {
      throw new AppError('invoice_not_found', 'There is no such invoice.');
    }
    return row;
  }

  /** The movements of a statement, oldest first, read in portions as they are consumed. */
  async *lines(accountId: string, invoice: InvoiceRow): AsyncGenerator<EntryRow> {
    const period = { start: invoice.period_start, end: invoice.period_end };
    let last: EntryRow | undefined;
    for (;;) {
      const rows = await this.#readModel.lines(accountId, period, last, LINES_PER_READ);
      yield* rows;
      last = rows.at(-1);
      if (rows.length < LINES_PER_READ) {
        return;
      }
    }
  }

  async #drafts(accountId: string): Promise<InvoiceRow[]> {
    const { first_unclosed: unclosed } = await this.#readModel.months(accountId);
    const months = this.#monthsFrom(unclosed).reverse();
    return Promise.all(
      months.map((start) => this.#readModel.draft(accountId, { start, end: nextMonthStart(start) })),
    );
  }

  /** First instants of the months up to the running one. */
  #monthsFrom(first: Date): Date[] {
    const months: Date[] = [];
    for (let month = first; month.getTime() <= this.#clock.now(); month = nextMonthStart(month)) {
      months.push(month);
    }
    return months;
  }
}
