import { defineRoute, type Route } from '../http/route.ts';
import type { LedgerVerifier } from '../ledger/ledger-verifier.ts';
import type { AccountsService } from './accounts.service.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';
import { verifyQuery, verifyResponse } from './operators.schema.ts';

/** `/admin/v1/ledger/verify`. */
export function verifyRoute(verifier: LedgerVerifier, accounts: AccountsService): Route {
  return defineRoute({
    ...OPERATOR_ROUTE,
    method: 'get',
    path: '/admin/v1/ledger/verify',
    operationId: 'verifyLedger',
    summary: 'Check every invariant of the ledger, for one account or all',
    query: verifyQuery,
    response: { status: 200, schema: verifyResponse },
    errors: ['account_not_found'],
    async handle({ query }) {
      const id = query.account_id;
      // nothing is wrong with the books of an account that does not exist: a mistyped id must not pass for a proof
      const account = id === undefined ? undefined : (await accounts.get(id)).id;
      const { ok, checked, violations, durationMs } = await verifier.verify(account);
      return { body: { data: { ok, checked, violations, duration_ms: durationMs } } };
    },
  });
}
