import { exportable } from '../http/answers/csv-export.ts';
import { linkHeader } from '../http/answers/page.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { presentTransaction } from './transactions.presenter.ts';
import {
  listTransactionsQuery,
  transactionListResponse,
  transactionParams,
  transactionResponse,
} from './transactions.schema.ts';
import type { TransactionsService } from './transactions.service.ts';

const billing = { method: 'get', tag: 'Billing', access: 'owner', envelope: 'data' } as const;

/** `/api/v1/billing/balance-transactions`. */
export function transactionRoutes(transactions: TransactionsService): Route[] {
  return [
    exportable(
      defineRoute({
        ...billing,
        path: '/api/v1/billing/balance-transactions',
        operationId: 'listBalanceTransactions',
        summary: 'List the ledger entries of the account, newest first',
        query: listTransactionsQuery,
        response: { status: 200, schema: transactionListResponse },
        errors: ['invalid_cursor'],
        async handle({ principal, query, url }) {
          const page = await transactions.list(principal, query);
          const data = page.rows.map((row) => presentTransaction(row, principal.accountId));
          return { headers: linkHeader(url, page.next), body: { data } };
        },
      }),
    ),
    defineRoute({
      ...billing,
      path: '/api/v1/billing/balance-transactions/{transaction_id}',
      operationId: 'getBalanceTransaction',
      summary: 'Get a ledger entry',
      params: transactionParams,
      response: { status: 200, schema: transactionResponse },
      errors: ['transaction_not_found'],
      async handle({ principal, params }) {
        const row = await transactions.get(principal, params.transaction_id);
        return { body: { data: presentTransaction(row, principal.accountId) } };
      },
    }),
  ];
}
