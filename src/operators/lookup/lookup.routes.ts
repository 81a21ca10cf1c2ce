import { presentTransaction } from '../../billing/transactions.presenter.ts';
import { listTransactionsQuery, transactionListResponse } from '../../billing/transactions.schema.ts';
import type { TransactionsService } from '../../billing/transactions.service.ts';
import { presentGenerations } from '../../generations/generations.presenter.ts';
import { generationListResponse, listGenerationsQuery } from '../../generations/generations.schema.ts';
import type { GenerationsService } from '../../generations/generations.service.ts';
import { exportable } from '../../http/answers/csv-export.ts';
import { linkHeader } from '../../http/answers/page.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { AppError } from '../../lib/errors.ts';
import { parsePublicId } from '../../lib/ids.ts';
import { presentCostRow } from '../../usage/usage.presenter.ts';
import { costsQuery, costsResponse } from '../../usage/usage.schema.ts';
import type { UsageService } from '../../usage/usage.service.ts';
import type { AccountsService } from '../accounts.service.ts';
import { OPERATOR_ROUTE } from '../operator-access.ts';
import { accountParams } from '../operators.schema.ts';
import { presentChargeRecord } from './charge-record.presenter.ts';
import type { ChargeRecordReadModel } from './charge-record.read-model.ts';
import { chargeParams, chargeRecordResponse } from './charge-record.schema.ts';
import type { SearchReadModel } from './search.read-model.ts';
import { searchQuery, searchResponse } from './search.schema.ts';

export interface LookupParts {
  readonly search: SearchReadModel;
  readonly charges: ChargeRecordReadModel;
  readonly generations: GenerationsService;
  readonly transactions: TransactionsService;
  readonly usage: UsageService;
}

/** Lookups for support: what an id refers to, and why something was charged. */
export function lookupRoutes(lookup: LookupParts, accounts: AccountsService): Route[] {
  return [...findingRoutes(lookup), ...accountHistoryRoutes(lookup, accounts)];
}

function findingRoutes(lookup: LookupParts): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/search',
      operationId: 'searchEverything',
      summary: 'Find what an id, number or name refers to, across all accounts',
      query: searchQuery,
      response: { status: 200, schema: searchResponse },
      errors: [],
      async handle({ query }) {
        return { body: { data: await lookup.search.find(query.q) } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/generations/{id}',
      operationId: 'getChargeRecord',
      summary: 'Get everything that explains the charge of a call or task; never its content',
      params: chargeParams,
      response: { status: 200, schema: chargeRecordResponse },
      errors: ['generation_not_found'],
      async handle({ params }) {
        const request = parsePublicId('request', params.id);
        const id = (request && (await lookup.search.generationOfRequest(params.id))) ?? params.id;
        const uuid = parsePublicId('generation', id);
        const record = uuid === undefined ? undefined : await lookup.charges.find(uuid, id);
        if (!record) {
          const dated = uuid ?? request;
          const month = dated === undefined ? undefined : await lookup.charges.archivedMonthOf(dated);
          throw new AppError('generation_not_found', whyNotFound(params.id, month));
        }
        return { body: { data: presentChargeRecord(record) } };
      },
    }),
  ];
}

/** `archivedMonth`: YYYY-MM, when the calls of the id's month are archived. */
function whyNotFound(id: string, archivedMonth: string | undefined): string {
  if (archivedMonth !== undefined) {
    return `There is no such generation in the database. The calls of ${archivedMonth} are archived: \`tollgate archive restore ${archivedMonth} --from <folder>\` puts them back. What was charged and refunded is in the account's transactions.`;
  }
  return id.startsWith('gen-')
    ? 'There is no such generation.'
    : 'There is no call or task of this request; `tollgate search` finds what else an id refers to.';
}

function accountHistoryRoutes(lookup: LookupParts, accounts: AccountsService): Route[] {
  return [
    exportable(
      defineRoute({
        ...OPERATOR_ROUTE,
        method: 'get',
        path: '/admin/v1/accounts/{id}/generations',
        operationId: 'listAccountGenerations',
        summary: 'List the ended calls and tasks of an account, newest first',
        params: accountParams,
        query: listGenerationsQuery,
        response: { status: 200, schema: generationListResponse },
        errors: ['account_not_found', 'invalid_cursor'],
        async handle({ params, query, url }) {
          const { id } = await accounts.get(params.id);
          const page = await lookup.generations.list({ accountId: id, role: 'owner' }, query);
          return { headers: linkHeader(url, page.next), body: presentGenerations(page) };
        },
      }),
    ),
    exportable(
      defineRoute({
        ...OPERATOR_ROUTE,
        method: 'get',
        path: '/admin/v1/accounts/{id}/transactions',
        operationId: 'listAccountTransactions',
        summary: 'List the ledger entries of an account, newest first',
        params: accountParams,
        query: listTransactionsQuery,
        response: { status: 200, schema: transactionListResponse },
        errors: ['account_not_found', 'invalid_cursor'],
        async handle({ params, query, url }) {
          const { id } = await accounts.get(params.id);
          const page = await lookup.transactions.list({ accountId: id }, query);
          const data = page.rows.map((row) => presentTransaction(row, id));
          return { headers: linkHeader(url, page.next), body: { data } };
        },
      }),
    ),
    exportable(
      defineRoute({
        ...OPERATOR_ROUTE,
        method: 'get',
        path: '/admin/v1/accounts/{id}/costs',
        operationId: 'getAccountCosts',
        summary: 'Report charges of an account by period and line item; sums match the ledger exactly',
        params: accountParams,
        query: costsQuery,
        response: { status: 200, schema: costsResponse },
        errors: ['account_not_found', 'invalid_cursor'],
        async handle({ params, query, url }) {
          const { id } = await accounts.get(params.id);
          const { page, range } = await lookup.usage.costs({ accountId: id, role: 'owner' }, query);
          const data = page.rows.map((row) => presentCostRow(row, range));
          return { headers: linkHeader(url, page.next), body: { data } };
        },
      }),
    ),
  ];
}
