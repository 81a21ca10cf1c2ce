import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import { idempotencyKey } from '../http/idempotency/idempotency.ts';
import { CURRENCY } from '../http/input/wire-shapes.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { BookingResult, CorrectionCall, CorrectionsService } from './corrections.service.ts';
import { presentAccount } from './operators.presenter.ts';
import {
  accountParams,
  adjustmentBody,
  adjustmentResponse,
  clearDebtBody,
  dryRunQuery,
  refundBody,
  refundResponse,
} from './operators.schema.ts';

/** Shared by all corrections: an account, `dry_run`, and an Idempotency-Key under which the correction is booked once. */
const correction = {
  tag: 'Operators',
  access: 'operator',
  envelope: 'data',
  method: 'post',
  params: accountParams,
  query: dryRunQuery,
  idempotency: 'booked',
} as const;

/** `/admin/v1/accounts/{id}/adjustments`, `…/refunds` and `…/debt`. */
export function correctionRoutes(corrections: CorrectionsService): Route[] {
  return [
    defineRoute({
      ...correction,
      path: '/admin/v1/accounts/{id}/adjustments',
      operationId: 'createAdjustment',
      summary: 'Book a signed correction; booked once per Idempotency-Key',
      body: adjustmentBody,
      response: { status: 201, schema: adjustmentResponse, headers: REPLAY_HEADER },
      errors: ['account_not_found', 'insufficient_credits', 'idempotency_key_reused'],
      async handle({ body, ...context }) {
        const call = callOf(context);
        const booked = await corrections.adjust(call, body);
        const { transaction_id, dry_run } = presentBooking(booked, call);
        return {
          headers: replayed(booked),
          body: { data: presentAccount(booked.row), transaction_id, dry_run },
        };
      },
    }),
    defineRoute({
      ...correction,
      path: '/admin/v1/accounts/{id}/refunds',
      operationId: 'createRefund',
      summary: 'Refund a charge or take back a purchase; booked once per Idempotency-Key',
      body: refundBody,
      response: { status: 201, schema: refundResponse, headers: REPLAY_HEADER },
      errors: ['account_not_found', 'transaction_not_found', 'idempotency_key_reused'],
      async handle({ body, ...context }) {
        const call = callOf(context);
        const refund = await corrections.refund(call, body);
        return { headers: replayed(refund), body: { data: presentBooking(refund, call) } };
      },
    }),
    defineRoute({
      ...correction,
      path: '/admin/v1/accounts/{id}/debt',
      operationId: 'clearDebt',
      summary:
        'Forgive a debt, or book that it was paid outside of the checkout; booked once per Idempotency-Key',
      body: clearDebtBody,
      response: { status: 201, schema: refundResponse, headers: REPLAY_HEADER },
      errors: ['account_not_found', 'idempotency_key_reused'],
      async handle({ body, ...context }) {
        const call = callOf(context);
        const cleared = await corrections.clearDebt(call, body);
        return { headers: replayed(cleared), body: { data: presentBooking(cleared, call) } };
      },
    }),
  ];
}

const REPLAY_HEADER = {
  'Idempotent-Replayed': 'true: it was already booked under this key, and nothing was written',
};

function replayed(booking: BookingResult): Record<string, string> {
  return booking.replayed ? { 'Idempotent-Replayed': 'true' } : {};
}

interface CorrectionContext {
  readonly params: { readonly id: string };
  readonly query: { readonly dry_run: 'true' | 'false' };
  readonly headers: IncomingHttpHeaders;
  readonly operator: string;
  readonly requestId: string;
}

function callOf({ params, query, headers, operator, requestId }: CorrectionContext): CorrectionCall {
  const key = idempotencyKey(headers['idempotency-key']);
  const isDryRun = query.dry_run === 'true';
  return { account: params.id, idempotencyKey: key, isDryRun, operator, requestId };
}

function presentBooking(
  { transactionId, amount, debt, row }: BookingResult,
  { isDryRun }: CorrectionCall,
): z.output<typeof refundResponse>['data'] {
  return {
    transaction_id: isDryRun ? null : transactionId,
    dry_run: isDryRun,
    amount: formatUsd(amount),
    from_balance: formatUsd(nanoUsd(amount - debt)),
    debt: formatUsd(debt),
    remaining_credits: formatUsd(nanoUsd(row.posted)),
    currency: CURRENCY,
  };
}
