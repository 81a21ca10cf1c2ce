import { exportable } from '../../http/answers/csv-export.ts';
import { decodeCursor, UUID_PART } from '../../http/answers/cursor.ts';
import { cutPage, linkHeader } from '../../http/answers/page.ts';
import { checkOrder } from '../../http/input/time-range.ts';
import { FieldError } from '../../http/input/validate.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { idAt, publicId } from '../../lib/ids.ts';
import { OPERATOR_ROUTE } from '../operator-access.ts';
import { presentKind, presentPayout, usd } from './book-reports.presenter.ts';
import type { BookReportsReadModel } from './book-reports.read-model.ts';
import {
  creditsByKindResponse,
  marginQuery,
  marginResponse,
  payoutsResponse,
  periodPageQuery,
  periodQuery,
  RANGE_DAYS_MAX,
  writeOffsResponse,
} from './book-reports.schema.ts';
import { splitCredits } from './credit-kinds.ts';

const report = { ...OPERATOR_ROUTE, method: 'get' } as const;
const DAY_MS = 86_400_000;
/** Margins are returned in one response, not in pages. */
const MARGIN_ROWS_MAX = 10_000;
/** A task may wait and run this long, so a call that ended later was not ordered earlier than that. */
const CALL_DAYS_MAX = 31;

/** Reports over a period: `/admin/v1/reports/…`. */
export function periodReportRoutes(books: BookReportsReadModel): Route[] {
  return [
    exportable(
      defineRoute({
        ...report,
        path: '/admin/v1/reports/margin',
        operationId: 'reportMargin',
        summary:
          'Report charges, refunds and provider cost, by period and model, endpoint, provider or account',
        query: marginQuery,
        response: { status: 200, schema: marginResponse },
        errors: ['invalid_request'],
        async handle({ query }) {
          const period = periodOf(query);
          const leastId = idAt(period.start.getTime() - CALL_DAYS_MAX * DAY_MS);
          const { granularity, group_by: groups } = query;
          const rows = await books.margin(period, leastId, { granularity, groups }, MARGIN_ROWS_MAX + 1);
          if (rows.length > MARGIN_ROWS_MAX) {
            throw new FieldError(
              'granularity',
              `would return more than ${MARGIN_ROWS_MAX} rows: choose a coarser granularity or a shorter range`,
            );
          }
          const data = rows.map((row) => ({
            ...row,
            period_start: row.period_start.toISOString(),
            account_id: row.account_id && publicId('account', row.account_id),
            charged: usd(row.charged),
            charged_without_cost: usd(row.charged_without_cost),
            refunded: usd(row.refunded),
            refunded_without_cost: usd(row.refunded_without_cost),
            provider_cost: usd(row.provider_cost),
            margin: usd(row.margin),
          }));
          return { body: { data } };
        },
      }),
    ),
    defineRoute({
      ...report,
      path: '/admin/v1/reports/write-offs',
      operationId: 'reportWriteOffs',
      summary: 'Report what was delivered but not charged, or owed but forgiven, by month and reason',
      query: periodQuery,
      response: { status: 200, schema: writeOffsResponse },
      errors: [],
      async handle({ query }) {
        const rows = await books.writeOffs(periodOf(query));
        return { body: { data: rows.map((row) => ({ ...row, amount: usd(row.amount) })) } };
      },
    }),
    ...pagedPeriodRoutes(books),
  ];
}

function pagedPeriodRoutes(books: BookReportsReadModel): Route[] {
  return [
    defineRoute({
      ...report,
      path: '/admin/v1/reports/payouts',
      operationId: 'reportPayouts',
      summary: 'Report money that moved outside the ledger, by payment',
      query: periodPageQuery,
      response: { status: 200, schema: payoutsResponse },
      errors: ['invalid_cursor'],
      async handle({ query, url }) {
        const rows = await books.payouts(periodOf(query), above(query.cursor), query.limit + 1);
        const page = cutPage(rows, query.limit, (row) => [row.id]);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentPayout) } };
      },
    }),
    defineRoute({
      ...report,
      path: '/admin/v1/reports/credits',
      operationId: 'reportCredits',
      summary: 'Report paid and granted credits of each account: added, used and remaining',
      query: periodPageQuery,
      response: { status: 200, schema: creditsByKindResponse },
      errors: ['invalid_cursor'],
      async handle({ query, url }) {
        const period = periodOf(query);
        const accounts = await books.accounts(above(query.cursor), query.limit + 1);
        const page = cutPage(accounts, query.limit, (row) => [row.id]);
        const data = [];
        for (const { id, name } of page.rows) {
          const { granted, paid } = splitCredits(await books.creditMovements(id, period));
          data.push({
            account_id: publicId('account', id),
            name,
            granted: presentKind(granted),
            paid: presentKind(paid),
          });
        }
        return { headers: linkHeader(url, page.next), body: { data } };
      },
    }),
  ];
}

/** Validates the period. Throws FieldError when it ends before it starts, or is too long for one response. */
function periodOf(query: { readonly start_time: Date; readonly end_time: Date }) {
  const { start_time: start, end_time: end } = query;
  checkOrder(query);
  if (end.getTime() - start.getTime() > RANGE_DAYS_MAX * DAY_MS) {
    throw new FieldError('end_time', `must be at most ${RANGE_DAYS_MAX} days after start_time`);
  }
  return { start, end };
}

function above(cursor: string | undefined): string | null {
  const [id = null] = cursor === undefined ? [] : decodeCursor(cursor, [UUID_PART]);
  return id;
}
