import { z } from 'zod';
import { answerOf, CURRENCY, currencyJson, storableText, usdString } from '../http/input/wire-shapes.ts';
import { AppError } from '../lib/errors.ts';
import { NANO_USD_PER_USD, type NanoUsd, parseUsd } from '../lib/money.ts';

const AMOUNT_MIN = NANO_USD_PER_USD;
const AMOUNT_MAX = 10_000n * NANO_USD_PER_USD;
const NANO_PER_CENT = NANO_USD_PER_USD / 100n;

const amount = z
  .string()
  .transform((text, context): NanoUsd => {
    const parsed = parseUsd(text);
    if (parsed === undefined || parsed < AMOUNT_MIN || parsed > AMOUNT_MAX || parsed % NANO_PER_CENT !== 0n) {
      context.addIssue({
        code: 'custom',
        message: 'must be 1.00 to 10000.00 USD in whole cents, as a string',
      });
      return z.NEVER;
    }
    return parsed;
  })
  .meta({ description: 'USD, 1.00 to 10000.00, whole cents', examples: ['25.00'] });

const currency = z
  .string()
  .default(CURRENCY)
  .transform((text) => {
    if (text.toUpperCase() !== CURRENCY) {
      throw new AppError('unsupported_currency', `currency: only ${CURRENCY} is supported.`);
    }
    return CURRENCY;
  })
  .meta({ description: 'USD, upper or lower case', examples: ['USD'] });

const returnUrl = storableText
  .max(2_048)
  .refine(isReturnUrl, 'must be an https URL (http for localhost only)')
  .optional()
  .meta({
    description:
      'Default: a page of this installation that shows the state of the payment. {CHECKOUT_SESSION_ID} is replaced by the id of the session.',
  });

export const createCheckoutBody = z
  .object({ amount, currency, success_url: returnUrl, cancel_url: returnUrl })
  .meta({ id: 'CreateCheckoutSession' });

export const checkoutParams = z.object({
  session_id: z.string().min(1).max(64).meta({ description: 'Id of the checkout session, cs_…' }),
});

export const checkoutJson = z
  .object({
    id: z.string().meta({ description: 'Id of the checkout session, cs_…' }),
    url: z.string().meta({ description: 'Page where the customer pays' }),
    status: z
      .enum(['open', 'complete', 'expired'])
      .meta({ description: 'open until it is paid (complete) or expires (expired)' }),
    payment_status: z
      .enum(['unpaid', 'paid', 'no_payment_required'])
      .meta({ description: 'paid: the credits have been added to the account' }),
    amount_total: usdString.meta({ description: 'What the customer pays and the account gets, USD' }),
    currency: currencyJson,
  })
  .meta({ id: 'CheckoutSession' });

export const checkoutResponse = answerOf(checkoutJson, 'The current state of the checkout session');

export type CreateCheckoutBody = z.output<typeof createCheckoutBody>;
export type CheckoutJson = z.output<typeof checkoutJson>;

function isReturnUrl(text: string): boolean {
  const plain = text.replaceAll('{CHECKOUT_SESSION_ID}', 'x');
  if (!URL.canParse(plain)) {
    return false;
  }
  const { protocol, hostname, username, password } = new URL(plain);
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
  return (protocol === 'https:' || (protocol === 'http:' && isLocal)) && username === '' && password === '';
}
