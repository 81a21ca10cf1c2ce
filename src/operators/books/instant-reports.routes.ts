import { decodeCursor, INTEGER_PART, UUID_PART } from '../../http/answers/cursor.ts';
import { cutPage, linkHeader } from '../../http/answers/page.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { OPERATOR_ROUTE } from '../operator-access.ts';
import { presentDebt, presentPrice, usd } from './book-reports.presenter.ts';
import type { BookReportsReadModel } from './book-reports.read-model.ts';
import {
  agedDebtsResponse,
  deferredRevenueResponse,
  instantPageQuery,
  instantQuery,
  pricesQuery,
  pricesResponse,
} from './book-reports.schema.ts';

const report = { ...OPERATOR_ROUTE, method: 'get' } as const;

/** Reports as of an instant: `/admin/v1/reports/…` and `/admin/v1/prices`. */
export function instantReportRoutes(books: BookReportsReadModel): Route[] {
  return [
    defineRoute({
      ...report,
      path: '/admin/v1/reports/deferred-revenue',
      operationId: 'reportDeferredRevenue',
      summary: 'Report what is owed to customers at an instant, and what they owe',
      query: instantQuery,
      response: { status: 200, schema: deferredRevenueResponse },
      errors: [],
      async handle({ query: { at } }) {
        const { credits, receivable, accounts } = await books.deferredRevenue(at);
        const data = { at: at.toISOString(), credits: usd(credits), receivable: usd(receivable), accounts };
        return { body: { data } };
      },
    }),
    defineRoute({
      ...report,
      path: '/admin/v1/reports/aged-debts',
      operationId: 'reportAgedDebts',
      summary: 'Report what each account owes at an instant, by age; repayments go to the oldest debt first',
      query: instantPageQuery,
      response: { status: 200, schema: agedDebtsResponse },
      errors: ['invalid_cursor'],
      async handle({ query: { at, limit, cursor }, url }) {
        const [after = null] = cursor === undefined ? [] : decodeCursor(cursor, [UUID_PART]);
        const rows = await books.agedDebts(at, after, limit + 1);
        const page = cutPage(rows, limit, (row) => [row.account_id]);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentDebt) } };
      },
    }),
    defineRoute({
      ...report,
      path: '/admin/v1/prices',
      operationId: 'listPricePeriods',
      summary: 'List the prices, when each was in effect and which catalog set it, newest first',
      query: pricesQuery,
      response: { status: 200, schema: pricesResponse },
      errors: ['invalid_cursor'],
      async handle({ query: { model = null, at = null, limit, cursor }, url }) {
        const [before = null] = cursor === undefined ? [] : decodeCursor(cursor, [INTEGER_PART]);
        const rows = await books.prices({ model, at }, before, limit + 1);
        const page = cutPage(rows, limit, (row) => [row.id]);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentPrice) } };
      },
    }),
  ];
}
