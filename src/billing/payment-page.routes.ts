import type { Response } from 'express';
import { z } from 'zod';
import { type HtmlPage, sendPage } from '../http/answers/html-page.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import { checkoutParams } from './checkout.schema.ts';
import type { CheckoutService } from './checkout.service.ts';
import { missingPage, paymentPage, resultPage } from './payment-page.ts';
import type { TestCheckoutService } from './test-checkout.service.ts';

const page = {
  path: '/checkout/{session_id}',
  tag: 'Billing',
  access: 'public',
  envelope: 'bare',
  params: checkoutParams,
  errors: [],
} as const;
const MISSING = { 404: 'There is no such session' } as const;
const UNPAYABLE = { ...MISSING, 410: 'The session has expired' } as const;
const html = { schema: z.string(), mediaTypes: ['text/html'] } as const;
const LOOK_AGAIN_SECONDS = 5;

/** The page that buyers return to, for every payment provider. */
export function checkoutResultRoutes(checkout: CheckoutService): Route[] {
  return [
    defineRoute({
      ...page,
      method: 'get',
      path: '/checkout/{session_id}/result',
      operationId: 'getCheckoutResult',
      summary: 'Page that buyers return to by default, with the state of the payment',
      query: z.object({
        canceled: z.enum(['1']).optional().meta({ description: '1: the buyer returned without paying' }),
      }),
      response: { ...html, status: 200, also: MISSING },
      handle: ({ params, query, response }) =>
        answer(
          response,
          () => checkout.open(params.session_id),
          (row) => resultPage(row, query.canceled !== undefined, LOOK_AGAIN_SECONDS),
        ),
    }),
  ];
}

/** The test provider's payment page. Mounted only where that provider is used. */
export function paymentPageRoutes(checkout: TestCheckoutService): Route[] {
  return [
    defineRoute({
      ...page,
      method: 'get',
      operationId: 'getPaymentPage',
      summary: 'Page of the test payment provider',
      response: { ...html, status: 200, also: UNPAYABLE },
      handle: ({ params, response }) =>
        answer(
          response,
          () => checkout.find(params.session_id),
          (row) => paymentPage(row, undefined),
        ),
    }),
    defineRoute({
      ...page,
      method: 'post',
      operationId: 'payTestCheckout',
      summary: 'Submit the form of the test payment page',
      body: z.instanceof(Buffer),
      bodyFormat: 'raw',
      bodyMediaType: 'application/x-www-form-urlencoded',
      bodyBytesMax: 1_024,
      idempotency: 'natural',
      response: { ...html, status: 303, also: { ...UNPAYABLE, 402: 'The card was declined' } },
      handle({ params, body, response }) {
        const isDeclined = new URLSearchParams(body.toString('utf8')).get('card') === 'declined';
        return answer(
          response,
          () => (isDeclined ? checkout.find(params.session_id) : checkout.pay(params.session_id)),
          (row) => afterPaying(response, row, isDeclined),
        );
      },
    }),
  ];
}

/** Redirects to the success URL once the session is paid, by this form or earlier; otherwise shows the page. */
function afterPaying(response: Response, row: CheckoutSessionRow, isDeclined: boolean): HtmlPage {
  const shown = paymentPage(row, isDeclined ? 'declined' : undefined);
  if (row.status !== 'complete') {
    return shown;
  }
  response.setHeader('Location', row.success_url);
  return { ...shown, status: 303 };
}

async function answer(
  response: Response,
  find: () => Promise<CheckoutSessionRow>,
  show: (row: CheckoutSessionRow) => HtmlPage,
): Promise<undefined> {
  let row: CheckoutSessionRow;
  try {
    row = await find();
  } catch (error) {
    if (error instanceof AppError && error.code === 'checkout_session_not_found') {
      return sendPage(response, missingPage());
    }
    throw error;
  }
  return sendPage(response, show(row));
}
