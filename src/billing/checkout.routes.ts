import { z } from 'zod';
import { CURRENCY } from '../http/input/wire-shapes.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import {
  type CheckoutJson,
  checkoutParams,
  checkoutResponse,
  createCheckoutBody,
} from './checkout.schema.ts';
import type { CheckoutService } from './checkout.service.ts';
import { documentNumber } from './documents.types.ts';
import type { ReceiptsService } from './receipts.service.ts';

const billing = { tag: 'Billing', access: 'owner', envelope: 'data' } as const;

/** `/api/v1/billing/checkout/sessions`. */
export function checkoutRoutes(checkout: CheckoutService, receipts: ReceiptsService): Route[] {
  return [
    defineRoute({
      ...billing,
      method: 'post',
      path: '/api/v1/billing/checkout/sessions',
      operationId: 'createCheckoutSession',
      summary: 'Open a hosted checkout session for prepaid credits',
      body: createCheckoutBody,
      response: { status: 201, schema: checkoutResponse },
      errors: [
        'unsupported_currency',
        'idempotency_in_progress',
        'idempotency_key_reused',
        'provider_error',
        'service_unavailable',
      ],
      idempotency: 'replay',
      async handle({ principal, body, generationId }) {
        const session = await checkout.create(principal.accountId, generationId, body);
        return { body: { data: presentCheckout(session) } };
      },
    }),
    defineRoute({
      ...billing,
      method: 'get',
      path: '/api/v1/billing/checkout/sessions/{session_id}',
      operationId: 'getCheckoutSession',
      summary: 'Get a checkout session',
      params: checkoutParams,
      response: { status: 200, schema: checkoutResponse },
      errors: ['checkout_session_not_found'],
      async handle({ principal, params }) {
        return {
          body: { data: presentCheckout(await checkout.get(principal.accountId, params.session_id)) },
        };
      },
    }),
    defineRoute({
      ...billing,
      method: 'get',
      path: '/api/v1/billing/checkout/sessions/{session_id}/receipt',
      operationId: 'getCheckoutReceipt',
      summary: 'Get the receipt of a paid checkout session as PDF',
      params: checkoutParams,
      response: { status: 200, schema: z.string(), mediaTypes: ['application/pdf'] },
      errors: ['checkout_session_not_found', 'provider_error'],
      async handle({ principal, params, response }) {
        const { number, pdf, pdfSha256 } = await receipts.get(principal.accountId, params.session_id);
        response.setHeader('Content-Type', 'application/pdf');
        const name = `receipt-${documentNumber('receipt', number)}.pdf`;
        response.setHeader('Content-Disposition', `attachment; filename="${name}"`);
        response.setHeader('Repr-Digest', `sha-256=:${pdfSha256.toString('base64')}:`);
        response.end(pdf);
        return undefined;
      },
    }),
  ];
}

function presentCheckout(row: CheckoutSessionRow): CheckoutJson {
  return {
    id: publicId('checkoutSession', row.id),
    url: row.url,
    status: row.status,
    payment_status: row.payment_status,
    amount_total: formatUsd(nanoUsd(row.amount)),
    currency: CURRENCY,
  };
}
