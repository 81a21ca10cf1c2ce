import { z } from 'zod';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import type { Logger } from '../lib/logger.ts';
import type { EventVerifier } from './payment/payment.types.ts';
import type { PaymentInboxService } from './payment-inbox.service.ts';

export interface PaymentEventOptions {
  readonly verify: EventVerifier;
  readonly inbox: PaymentInboxService;
  readonly log: Logger;
}

const BODY_BYTES_MAX = 512 * 1024;
const EVENTS_PER_RUN = 10;

const received = z.object({
  received: z.literal(true).meta({ description: 'The event is stored and processed later' }),
});

/** Receives Stripe's events. Mounted only where Stripe is configured. */
export function paymentEventRoutes({ verify, inbox, log }: PaymentEventOptions): Route[] {
  return [
    defineRoute({
      method: 'post',
      path: '/webhooks/stripe',
      operationId: 'receiveStripeEvent',
      summary: 'Receive events of the payment provider, verified by their signature',
      tag: 'Billing',
      access: 'public',
      envelope: 'bare',
      body: z.instanceof(Buffer),
      bodyFormat: 'raw',
      bodyBytesMax: BODY_BYTES_MAX,
      response: { status: 200, schema: received },
      errors: ['signature_invalid', 'payload_too_large'],
      idempotency: 'natural',
      async handle({ body, headers }) {
        const signature = headers['stripe-signature'];
        await inbox.receive(verify(body, typeof signature === 'string' ? signature : undefined));
        // the event is stored already; processing it now saves the buyer the wait for the next sweep
        inbox
          .process(EVENTS_PER_RUN)
          .catch((error: unknown) => log.warn({ error }, 'payment events not processed, trying again'));
        return { body: { received: true } };
      },
    }),
  ];
}
