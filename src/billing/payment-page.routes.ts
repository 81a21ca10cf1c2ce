import type { Response } from 'express';
import { z } from 'zod';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import { missingPage, type PageNotice, paymentPage } from './payment-page.ts';
import type { TestCheckoutService } from './test-checkout.service.ts';

const page = {
  path: '/checkout/{session_id}',
  tag: 'Billing',
  access: 'public',
  envelope: 'bare',
  params: z.object({ session_id: z.string().min(1).max(64) }),
  errors: [],
} as const;
const UNPAYABLE = { 404: 'There is no such session', 410: 'The session has expired' } as const;
const html = { schema: z.string(), mediaTypes: ['text/html'] } as const;

/** The test provider's payment page; mounted only where that provider is in use. */
export function paymentPageRoutes(checkout: TestCheckoutService): Route[] {
  return [
    defineRoute({
      ...page,
      method: 'get',
      operationId: 'getPaymentPage',
      summary: 'Page of the test payment provider',
      response: { ...html, status: 200, also: UNPAYABLE },
      handle: ({ params, response }) => answer(response, () => checkout.find(params.session_id)),
    }),
    defineRoute({
      ...page,
      method: 'post',
      operationId: 'payTestCheckout',
      summary: 'The form of that page',
      body: z.instanceof(Buffer),
      bodyFormat: 'raw',
      bodyMediaType: 'application/x-www-form-urlencoded',
      bodyBytesMax: 1_024,
      response: { ...html, status: 303, also: { ...UNPAYABLE, 402: 'The card was declined' } },
      handle({ params, body, response }) {
        const isDeclined = new URLSearchParams(body.toString('utf8')).get('card') === 'declined';
        return isDeclined
          ? answer(response, () => checkout.find(params.session_id), 'declined')
          : answer(response, () => checkout.pay(params.session_id), undefined, true);
      },
    }),
  ];
}

async function answer(
  response: Response,
  work: () => Promise<CheckoutSessionRow>,
  notice?: PageNotice,
  isPayment = false,
): Promise<undefined> {
  let row: CheckoutSessionRow;
  try {
    row = await work();
  } catch (error) {
    if (error instanceof AppError && error.code === 'checkout_session_not_found') {
      return send(response, 404, missingPage(), []);
    }
    throw error;
  }
  if (isPayment && row.status === 'complete') {
    response.setHeader('Location', row.success_url);
    return send(response, 303, '', [row.success_url]);
  }
  const status = row.status === 'expired' ? 410 : notice === 'declined' ? 402 : 200;
  return send(response, status, paymentPage(row, notice), [row.success_url, row.cancel_url]);
}

/** Browsers check a form's redirect against form-action too, so the pages that it may lead to are named. */
function send(response: Response, status: number, body: string, targets: readonly string[]): undefined {
  const origins = targets.map((target) => new URL(target).origin).join(' ');
  const policy = `default-src 'none'; style-src 'unsafe-inline'; form-action 'self' ${origins}; base-uri 'none'; frame-ancestors 'none'`;
  response.statusCode = status;
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', policy);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Referrer-Policy', 'no-referrer');
  response.end(body);
  return undefined;
}
