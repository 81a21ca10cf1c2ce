import { linkHeader } from '../http/answers/page.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import type { AccountsService } from './accounts.service.ts';
import { presentAccount } from './operators.presenter.ts';
import {
  accountListResponse,
  accountParams,
  accountResponse,
  createAccountBody,
  createdAccountResponse,
  listAccountsQuery,
  updateAccountBody,
} from './operators.schema.ts';

const operator = { tag: 'Operators', access: 'operator', envelope: 'data' } as const;

/** `/admin/v1/accounts`. */
export function accountRoutes(accounts: AccountsService): Route[] {
  return [
    defineRoute({
      ...operator,
      method: 'post',
      path: '/admin/v1/accounts',
      operationId: 'createAccount',
      summary: 'Open an account; its owner key is shown in this response only',
      body: createAccountBody,
      response: { status: 201, schema: createdAccountResponse },
      idempotency: 'replay',
      errors: ['idempotency_key_reused', 'idempotency_in_progress'],
      async handle({ body, operator, requestId, generationId }) {
        const { row, secret } = await accounts.open(body, { operator, requestId }, generationId);
        return { body: { data: presentAccount(row), key: secret } };
      },
    }),
    defineRoute({
      ...operator,
      method: 'get',
      path: '/admin/v1/accounts',
      operationId: 'listAccounts',
      summary: 'List accounts, newest first',
      query: listAccountsQuery,
      response: { status: 200, schema: accountListResponse },
      errors: ['invalid_cursor'],
      async handle({ query, url }) {
        const page = await accounts.list(query);
        return { headers: linkHeader(url, page.next), body: { data: page.rows.map(presentAccount) } };
      },
    }),
    defineRoute({
      ...operator,
      method: 'get',
      path: '/admin/v1/accounts/{id}',
      operationId: 'getAccount',
      summary: 'Get an account',
      params: accountParams,
      response: { status: 200, schema: accountResponse },
      errors: ['account_not_found'],
      async handle({ params }) {
        return { body: { data: presentAccount(await accounts.get(params.id)) } };
      },
    }),
    ...accountChangeRoutes(accounts),
  ];
}

function accountChangeRoutes(accounts: AccountsService): Route[] {
  return [
    defineRoute({
      ...operator,
      method: 'delete',
      path: '/admin/v1/accounts/{id}',
      operationId: 'eraseAccount',
      summary: 'Close an account permanently and remove its personal data; the ledger is kept',
      params: accountParams,
      response: { status: 200, schema: accountResponse },
      errors: ['account_not_found'],
      async handle({ params, operator, requestId }) {
        return { body: { data: presentAccount(await accounts.erase(params.id, { operator, requestId })) } };
      },
    }),
    defineRoute({
      ...operator,
      method: 'patch',
      path: '/admin/v1/accounts/{id}',
      operationId: 'updateAccount',
      summary: 'Suspend, rename or restrict an account, or change its limits',
      params: accountParams,
      body: updateAccountBody,
      response: { status: 200, schema: accountResponse },
      errors: ['account_not_found'],
      async handle({ params, body, operator, requestId }) {
        return {
          body: { data: presentAccount(await accounts.update(params.id, body, { operator, requestId })) },
        };
      },
    }),
  ];
}
