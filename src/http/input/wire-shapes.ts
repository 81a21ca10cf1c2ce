import { z } from 'zod';

/** Text that the database can hold: well-formed Unicode without NUL. */
export const storableText = z
  .string()
  .refine((text) => !/[\0\p{Surrogate}]/u.test(text), 'must be well-formed Unicode without NUL');

/** The request id that a response contains beside its data. */
export const requestId = z.string().meta({
  description: 'Id of this request, the same as the header x-request-id: quote it when you ask for help',
});

/** Schema of a response about one thing. */
export function answerOf<Data extends z.ZodType>(data: Data, description: string) {
  return z.strictObject({ data: data.meta({ description }), request_id: requestId });
}

/** Schema of a response that lists things. `description` says in which order. */
export function listOf<Item extends z.ZodType>(item: Item, description: string) {
  return z.strictObject({ data: z.array(item).meta({ description }), request_id: requestId });
}

export const accountId = z.string().meta({ description: 'Id of the account, acc_…' });
export const modelId = z.string().meta({ description: 'Public id of the model' });
export const apiKeyHash = z
  .string()
  .meta({ description: 'Hash of the key that made the call; kept when the key is deleted' });
export const endpointPath = z
  .string()
  .meta({ description: 'Path that was called, e.g. /api/v1/chat/completions' });

/** The reason why a call or a task failed. */
export const failure = z
  .object({
    code: z.string().meta({ description: 'Stable, for programs; docs/reference/errors.md lists them' }),
    message: z.string().meta({ description: 'For people; may change' }),
  })
  .nullable()
  .meta({ description: 'Why it failed; null unless it did' });

const count = z.int().min(0);

/** The API's usage object: six integers. */
export const usageJson = z
  .object({
    input_tokens: count.meta({
      description: 'Prompt tokens, including those read from or written to a cache',
    }),
    output_tokens: count.meta({ description: 'Tokens of the answer, including reasoning' }),
    total_tokens: count.meta({ description: 'input_tokens + output_tokens' }),
    cache_read_tokens: count.meta({
      description: 'Input tokens that the provider read from its cache',
    }),
    cache_write_tokens: count.meta({
      description: 'Input tokens that the provider wrote to its cache',
    }),
    reasoning_tokens: count.meta({
      description: 'Output tokens spent on reasoning; 0 when the provider does not report them',
    }),
  })
  .meta({ id: 'Usage', description: 'Tokens of a call, as charged' });

export type UsageJson = z.output<typeof usageJson>;

/** Token counts as the database returns them. */
export interface UsageColumns {
  readonly input_tokens: string;
  readonly output_tokens: string;
  readonly cache_read_tokens: string;
  readonly cache_write_tokens: string;
  readonly reasoning_tokens: string;
}

export function presentUsage(row: UsageColumns): UsageJson {
  const input = Number(row.input_tokens);
  const output = Number(row.output_tokens);
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    cache_read_tokens: Number(row.cache_read_tokens),
    cache_write_tokens: Number(row.cache_write_tokens),
    reasoning_tokens: Number(row.reasoning_tokens),
  };
}

export const CURRENCY = 'USD';

export const currencyJson = z.literal(CURRENCY).meta({ description: 'USD is the only currency' });

/** A decimal string of USD, as in every amount, balance and price. */
export const usdString = z
  .string()
  .regex(/^-?\d+\.\d{2,9}$/)
  .meta({ description: 'USD, plain decimal', examples: ['12.50'] });

/** The API's money object. */
export const moneyJson = z
  .object({ value: usdString, currency: currencyJson })
  .meta({ id: 'Money', description: 'An amount of money' });

const URL_LENGTH_MAX = 2_048;

/** A URL that events can be posted to. Whether its address is public is checked when connecting. */
export const httpUrl = z
  .string()
  .max(URL_LENGTH_MAX)
  .refine(isHttpUrl, 'must be an http(s) URL without credentials');

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) {
    return false;
  }
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
