import { exportable } from '../http/answers/csv-export.ts';
import { linkHeader } from '../http/answers/page.ts';
import type { BucketRange } from '../http/input/time-range.ts';
import type { Reply, Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import {
  presentActivityRow,
  presentCostRow,
  presentCostsTotal,
  presentSpeedRow,
  presentUsageRow,
} from './usage.presenter.ts';
import {
  activityQuery,
  activityResponse,
  costsQuery,
  costsResponse,
  costsTotalQuery,
  costsTotalResponse,
  speedResponse,
  usageQuery,
  usageResponse,
} from './usage.schema.ts';
import type { UsageReport, UsageService } from './usage.service.ts';

const report = { method: 'get', tag: 'Usage', access: 'inference', envelope: 'data' } as const;

/** `/api/v1/usage`, `/api/v1/performance`, `/api/v1/activity`, `/api/v1/costs`, `/api/v1/costs/total`. */
export function usageRoutes(usage: UsageService): Route[] {
  return [
    exportable(
      defineRoute({
        ...report,
        path: '/api/v1/usage',
        operationId: 'getUsage',
        summary: 'Tokens and requests by period, model and key',
        query: usageQuery,
        response: { status: 200, schema: usageResponse },
        errors: ['invalid_cursor'],
        async handle({ principal, query, url }) {
          return reply(await usage.usage(principal, query), presentUsageRow, url);
        },
      }),
    ),
    exportable(
      defineRoute({
        ...report,
        path: '/api/v1/performance',
        operationId: 'getPerformance',
        summary: 'Speed of calls by period and model, from the newest 50,000 calls in the range',
        query: usageQuery,
        response: { status: 200, schema: speedResponse },
        errors: ['invalid_cursor'],
        async handle({ principal, query, url }) {
          return reply(await usage.speed(principal, query), presentSpeedRow, url);
        },
      }),
    ),
    exportable(
      defineRoute({
        ...report,
        path: '/api/v1/activity',
        operationId: 'getActivity',
        summary: 'Tokens, requests and charges by day, endpoint, model and key',
        query: activityQuery,
        response: { status: 200, schema: activityResponse },
        errors: ['invalid_cursor'],
        async handle({ principal, query, url }) {
          return reply(await usage.activity(principal, query), presentActivityRow, url);
        },
      }),
    ),
    ...costRoutes(usage),
  ];
}

function costRoutes(usage: UsageService): Route[] {
  return [
    exportable(
      defineRoute({
        ...report,
        path: '/api/v1/costs',
        operationId: 'getCosts',
        summary: 'Charges by period and line item; the sums equal the ledger exactly',
        query: costsQuery,
        response: { status: 200, schema: costsResponse },
        errors: ['invalid_cursor'],
        async handle({ principal, query, url }) {
          return reply(await usage.costs(principal, query), presentCostRow, url);
        },
      }),
    ),
    ledgerTotalRoute(usage),
  ];
}

function ledgerTotalRoute(usage: UsageService): Route {
  return defineRoute({
    ...report,
    path: '/api/v1/costs/total',
    operationId: 'getCostsTotal',
    summary: 'What the ledger itself charged in a range, to check the sum of the costs against',
    query: costsTotalQuery,
    response: { status: 200, schema: costsTotalResponse },
    errors: [],
    async handle({ principal, query }) {
      const { amount, range } = await usage.ledgerTotal(principal, query);
      return { body: { data: presentCostsTotal(amount, range) } };
    },
  });
}

function reply<Row>(
  { page, range }: UsageReport<Row>,
  present: (row: Row, range: BucketRange) => object,
  url: string,
): Reply {
  return {
    headers: linkHeader(url, page.next),
    body: { data: page.rows.map((row) => present(row, range)) },
  };
}
