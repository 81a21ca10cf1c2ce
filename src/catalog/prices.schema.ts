import { z } from 'zod';
import { PRICE_NAMES, type PriceName, parsePrice } from './pricing.ts';

/** A price in USD per unit, as a quoted decimal. */
export const price = z
  .string({ message: 'must be a quoted decimal of USD, e.g. "0.0000006"' })
  .transform((text, context) => {
    const parsed = parsePrice(text);
    if (parsed === undefined) {
      context.addIssue({ code: 'custom', message: 'must be a plain decimal of USD with up to 12 decimals' });
      return z.NEVER;
    }
    return parsed;
  });

/** Descriptions of the prices, which follow "USD": the unit that is counted and the default. */
const PRICED: Readonly<Record<PriceName, string>> = {
  prompt: 'per input token',
  completion: 'per output token',
  request: 'per call or order',
  image: 'per image',
  web_search:
    'per search; must be "0", because searches are not counted: for a model that always searches, include them in `request`',
  internal_reasoning: 'per reasoning token; defaults to `completion`',
  input_cache_read: 'per input token from a cache; defaults to `prompt`',
  input_cache_write: 'per input token written to a cache; defaults to `prompt`',
};
/** All eight members, zero if the file omits them. For cache and reasoning prices zero means "same as prompt or completion". */
export const pricing = z.strictObject(
  Object.fromEntries(
    PRICE_NAMES.map((name) => [name, price.default(0n).describe(`USD ${PRICED[name]}`)]),
  ) as Record<PriceName, z.ZodDefault<typeof price>>,
);
/** The prices of a model, including the one per second of video. */
export const modelPricing = pricing.extend({ second: price.default(0n).describe('USD per second of video') });
