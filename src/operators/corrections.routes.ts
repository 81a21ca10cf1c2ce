import { idempotencyKey } from '../http/idempotency.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { CURRENCY } from '../http/wire-shapes.ts';
import { formatUsd } from '../lib/money.ts';
import type { CorrectionsService } from './corrections.service.ts';
import { presentAccount } from './operators.presenter.ts';
import {
  accountParams,
  accountResponse,
  adjustmentBody,
  refundBody,
  refundResponse,
} from './operators.schema.ts';

const operator = { tag: 'Operators', access: 'operator', envelope: 'data' } as const;

/** `/admin/v1/accounts/{id}/adjustments` and `…/refunds`. */
export function correctionRoutes(corrections: CorrectionsService): Route[] {
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
      async handle({ params, body, headers, operator, requestId }) {
        const key = idempotencyKey(headers['idempotency-key']);
        const row = await corrections.adjust(
          { account: params.id, idempotencyKey: key, operator, requestId },
          body,
        );
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
      async handle({ params, body, headers, operator, requestId }) {
        const key = idempotencyKey(headers['idempotency-key']);
        const refund = await corrections.refund(
          { account: params.id, idempotencyKey: key, operator, requestId },
          body,
        );
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
