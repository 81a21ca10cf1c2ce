import { idempotencyKey } from '../http/idempotency.ts';
import { linkHeader } from '../http/page.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { CURRENCY } from '../http/wire-shapes.ts';
import type { LedgerVerifier } from '../ledger/ledger-verifier.ts';
import { formatUsd } from '../lib/money.ts';
import { type AccountsService, accountUuid } from './accounts.service.ts';
import type { CorrectionsService } from './corrections.service.ts';
import { presentAccount } from './operators.presenter.ts';
import {
  accountListResponse,
  accountParams,
  accountResponse,
  adjustmentBody,
  createAccountBody,
  createdAccountResponse,
  listAccountsQuery,
  refundBody,
  refundResponse,
  updateAccountBody,
  verifyQuery,
  verifyResponse,
} from './operators.schema.ts';

export interface OperatorServices {
  readonly accounts: AccountsService;
  readonly corrections: CorrectionsService;
  readonly verifier: LedgerVerifier;
}

const operator = { tag: 'Operators', access: 'operator', envelope: 'data' } as const;

/** `/admin/v1/…`. */
export function operatorRoutes(services: OperatorServices): Route[] {
  return [
    ...accountRoutes(services.accounts),
    ...correctionRoutes(services.corrections),
    verifyRoute(services.verifier),
  ];
}

function accountRoutes(accounts: AccountsService): Route[] {
  return [
    defineRoute({
      ...operator,
      method: 'post',
      path: '/admin/v1/accounts',
      operationId: 'createAccount',
      summary: 'Open an account; its owner key is shown in this answer only',
      body: createAccountBody,
      response: { status: 201, schema: createdAccountResponse },
      errors: [],
      async handle({ body, requestId }) {
        const { row, secret } = await accounts.open(body, requestId);
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
    defineRoute({
      ...operator,
      method: 'patch',
      path: '/admin/v1/accounts/{id}',
      operationId: 'updateAccount',
      summary: 'Suspend, rename or confine an account',
      params: accountParams,
      body: updateAccountBody,
      response: { status: 200, schema: accountResponse },
      errors: ['account_not_found'],
      async handle({ params, body, requestId }) {
        return { body: { data: presentAccount(await accounts.update(params.id, body, requestId)) } };
      },
    }),
  ];
}

function correctionRoutes(corrections: CorrectionsService): Route[] {
  return [
    defineRoute({
      ...operator,
      method: 'post',
      path: '/admin/v1/accounts/{id}/adjustments',
      operationId: 'createAdjustment',
      summary: 'Book a signed correction; booked once per Idempotency-Key',
      params: accountParams,
      body: adjustmentBody,
      response: { status: 201, schema: accountResponse },
      errors: ['account_not_found', 'insufficient_credits', 'idempotency_key_reused'],
      async handle({ params, body, headers, requestId }) {
        const key = idempotencyKey(headers['idempotency-key']);
        const row = await corrections.adjust({ account: params.id, idempotencyKey: key, requestId }, body);
        return { body: { data: presentAccount(row) } };
      },
    }),
    defineRoute({
      ...operator,
      method: 'post',
      path: '/admin/v1/accounts/{id}/refunds',
      operationId: 'createRefund',
      summary: 'Give back a charge or take back a purchase; booked once per Idempotency-Key',
      params: accountParams,
      body: refundBody,
      response: { status: 201, schema: refundResponse },
      errors: ['account_not_found', 'transaction_not_found', 'idempotency_key_reused'],
      async handle({ params, body, headers, requestId }) {
        const key = idempotencyKey(headers['idempotency-key']);
        const refund = await corrections.refund({ account: params.id, idempotencyKey: key, requestId }, body);
        return {
          body: {
            data: {
              transaction_id: refund.transactionId,
              amount: formatUsd(refund.amount),
              currency: CURRENCY,
            },
          },
        };
      },
    }),
  ];
}

function verifyRoute(verifier: LedgerVerifier): Route {
  return defineRoute({
    ...operator,
    method: 'get',
    path: '/admin/v1/ledger/verify',
    operationId: 'verifyLedger',
    summary: 'Prove the books: every invariant of the ledger, of one account or of all',
    query: verifyQuery,
    response: { status: 200, schema: verifyResponse },
    errors: ['account_not_found'],
    async handle({ query }) {
      const account = query.account_id === undefined ? undefined : accountUuid(query.account_id);
      const { ok, checked, violations, durationMs } = await verifier.verify(account);
      return { body: { data: { ok, checked, violations, duration_ms: durationMs } } };
    },
  });
}
