import { decodeCursor, INTEGER_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import { FieldError } from '../http/input/validate.ts';
import { AppError } from '../lib/errors.ts';
import { isInvoiceId, nextMonthStart } from './invoice-id.ts';
import type { InvoiceRow, InvoicesReadModel } from './invoices.read-model.ts';
import type { ListInvoicesQuery } from './invoices.schema.ts';
import type { EntryRow } from './transactions.read-model.ts';

const TIME_PART = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const LINES_PER_READ = 1_000;

/** The statements of an account, one per UTC month. Closed ones are stored, the others computed. */
export class InvoicesService {
  readonly #readModel: InvoicesReadModel;

  constructor(readModel: InvoicesReadModel) {
    this.#readModel = readModel;
  }

  /** Returns a page of statements, newest first, including the current month's draft. */
  async list(accountId: string, query: ListInvoicesQuery): Promise<Page<InvoiceRow>> {
    const { status = null, period_start: overlapStart = null, period_end: overlapEnd = null } = query;
    if (overlapStart && overlapEnd && overlapStart > overlapEnd) {
      throw new FieldError('period_start', 'must not be after period_end');
    }
    const after =
      query.cursor === undefined ? undefined : decodeCursor(query.cursor, [TIME_PART, INTEGER_PART]);
    const before = after?.[0] === undefined ? null : new Date(after[0]);
    const filter = { accountId, after, status, overlapStart, overlapEnd, limit: query.limit + 1 };
    const drafts = status === null || status === 'draft' ? await this.#drafts(accountId) : [];
    const wanted = drafts.filter(
      (row) =>
        (before === null || row.period_start < before) &&
        (overlapStart === null || row.period_end > overlapStart) &&
        (overlapEnd === null || row.period_start < overlapEnd),
    );
    const closed = status === 'draft' ? [] : await this.#readModel.closed(filter);
    return cutPage([...wanted, ...closed], query.limit, (row) => [
      row.period_start.toISOString(),
      String(row.version),
    ]);
  }

  /** Returns a statement. Throws AppError invoice_not_found. */
  async get(accountId: string, id: string): Promise<InvoiceRow> {
    const row = (await this.#closed(accountId, id)) ?? (await this.#draft(accountId, id));
    if (!row) {
      throw new AppError('invoice_not_found', 'There is no such invoice.');
    }
    return row;
  }

  async #closed(accountId: string, id: string): Promise<InvoiceRow | undefined> {
    const versions = await this.#readModel.versions(accountId);
    const month = versions.find((row) => isInvoiceId(id, accountId, row.period_start, row.version));
    return month && (await this.#readModel.closedMonth(accountId, month));
  }

  async #draft(accountId: string, id: string): Promise<InvoiceRow | undefined> {
    const start = (await this.#openMonths(accountId)).find((month) => isInvoiceId(id, accountId, month));
    return start && (await this.#readModel.draft(accountId, { start, end: nextMonthStart(start) }));
  }

  /** Yields the movements of a statement, oldest first, read in portions as they are consumed. */
  async *lines(accountId: string, invoice: InvoiceRow): AsyncGenerator<EntryRow> {
    let last: EntryRow | undefined;
    for (;;) {
      const rows = await this.#readModel.lines(accountId, invoice, last, LINES_PER_READ);
      yield* rows;
      last = rows.at(-1);
      if (rows.length < LINES_PER_READ) {
        return;
      }
    }
  }

  async #drafts(accountId: string): Promise<InvoiceRow[]> {
    const months = (await this.#openMonths(accountId)).reverse();
    return Promise.all(
      months.map((start) => this.#readModel.draft(accountId, { start, end: nextMonthStart(start) })),
    );
  }

  /** Returns the first instants of the months that are not closed, the current one last. The ledger's clock decides which month that is. */
  async #openMonths(accountId: string): Promise<Date[]> {
    const { first_unclosed: first, now } = await this.#readModel.months(accountId);
    const months: Date[] = [];
    for (let month = first; month <= now; month = nextMonthStart(month)) {
      months.push(month);
    }
    return months;
  }
}
