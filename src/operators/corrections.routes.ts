import { idempotencyKey } from '../http/idempotency.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { CURRENCY } from '../http/wire-shapes.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { BookingResult, CorrectionsService } from './corrections.service.ts';
import { presentAccount } from './operators.presenter.ts';
import {
  accountParams,
  adjustmentBody,
  adjustmentResponse,
  clearDebtBody,
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
      response: { status: 201, schema: adjustmentResponse, headers: REPLAY_HEADER },
      errors: ['account_not_found', 'insufficient_credits', 'idempotency_key_reused'],
      idempotency: 'booked',
      async handle({ params, body, headers, operator, requestId }) {
        const key = idempotencyKey(headers['idempotency-key']);
        const booked = await corrections.adjust(
          { account: params.id, idempotencyKey: key, operator, requestId },
          body,
        );
        return {
          headers: replayed(booked),
          body: { data: presentAccount(booked.row), transaction_id: booked.transactionId },
        };
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
      response: { status: 201, schema: refundResponse, headers: REPLAY_HEADER },
      errors: ['account_not_found', 'transaction_not_found', 'idempotency_key_reused'],
      idempotency: 'booked',
      async handle({ params, body, headers, operator, requestId }) {
        const key = idempotencyKey(headers['idempotency-key']);
        const refund = await corrections.refund(
          { account: params.id, idempotencyKey: key, operator, requestId },
          body,
        );
        return { headers: replayed(refund), body: { data: presentBooking(refund) } };
      },
    }),
    defineRoute({
      ...operator,
      method: 'post',
      path: '/admin/v1/accounts/{id}/debt',
      operationId: 'clearDebt',
      summary:
        'Forgive a debt, or book that it was paid outside of the checkout; booked once per Idempotency-Key',
      params: accountParams,
      body: clearDebtBody,
      response: { status: 201, schema: refundResponse, headers: REPLAY_HEADER },
      errors: ['account_not_found', 'idempotency_key_reused'],
      idempotency: 'booked',
      async handle({ params, body, headers, operator, requestId }) {
        const key = idempotencyKey(headers['idempotency-key']);
        const call = { account: params.id, idempotencyKey: key, operator, requestId };
        const cleared = await corrections.clearDebt(call, body);
        return { headers: replayed(cleared), body: { data: presentBooking(cleared) } };
      },
    }),
  ];
}

const REPLAY_HEADER = {
  'Idempotent-Replayed': 'true: it had been booked before under this key, nothing was written',
};

function replayed(booking: BookingResult): Record<string, string> {
  return booking.replayed ? { 'Idempotent-Replayed': 'true' } : {};
}

function presentBooking({ transactionId, amount, debt }: BookingResult): object {
  return {
    transaction_id: transactionId,
    amount: formatUsd(amount),
    from_balance: formatUsd(nanoUsd(amount - debt)),
    debt: formatUsd(debt),
    currency: CURRENCY,
  };
}
