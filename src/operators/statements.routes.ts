import { documentNumber } from '../billing/documents.types.ts';
import { presentInvoice } from '../billing/invoices.presenter.ts';
import type { StatementRow } from '../billing/invoices.read-model.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { AccountsService } from './accounts.service.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';
import { accountParams } from './operators.schema.ts';
import {
  reissueBody,
  type StatementJson,
  statementListResponse,
  statementParams,
} from './statements.schema.ts';
import type { StatementsService } from './statements.service.ts';

/** `/admin/v1/accounts/{id}/statements`. */
export function statementRoutes(statements: StatementsService, accounts: AccountsService): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/accounts/{id}/statements',
      operationId: 'listStatements',
      summary: 'List the closed statements of an account, void ones included, newest first',
      params: accountParams,
      response: { status: 200, schema: statementListResponse },
      errors: ['account_not_found'],
      async handle({ params }) {
        const account = await accounts.get(params.id);
        const rows = await statements.list(account.id);
        return { body: { data: rows.map((row) => presentStatement(row, account.id)) } };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/admin/v1/accounts/{id}/statements/{month}/reissue',
      operationId: 'reissueStatement',
      summary: 'Reissue the statement of a closed month: the old one becomes void, later ones follow',
      params: statementParams,
      body: reissueBody,
      response: { status: 201, schema: statementListResponse },
      errors: ['account_not_found', 'invoice_not_found', 'invalid_request'],
      idempotency: 'replay',
      async handle({ params, body, operator, requestId }) {
        const account = await accounts.get(params.id);
        const act = { operator, requestId };
        const rows = await statements.reissue(params.id, params.month, body.reason, act);
        return { body: { data: rows.map((row) => presentStatement(row, account.id)) } };
      },
    }),
  ];
}

function presentStatement(row: StatementRow, accountId: string): StatementJson {
  return {
    ...presentInvoice(row, accountId),
    version: row.version,
    reissue_reason: row.reissue_reason,
    reissued_by: row.reissued_by,
    created_at: row.created_at.toISOString(),
    number: row.number === null ? null : documentNumber('statement', row.number),
    digest: row.digest,
    pdf_sha256: row.pdf_sha256,
    csv_sha256: row.csv_sha256,
  };
}
