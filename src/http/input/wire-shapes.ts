import { z } from 'zod';

/** The id that an answer carries beside its data. */
export const requestId = z.string().meta({
  description: 'Id of this request, the same as the header x-request-id: quote it when you ask for help',
});

/** The body of an answer about one thing. */
export function answerOf<Data extends z.ZodType>(data: Data, description: string) {
  return z.strictObject({ data: data.meta({ description }), request_id: requestId });
}

/** The body of an answer that lists things; `description` says in which order. */
export function listOf<Item extends z.ZodType>(item: Item, description: string) {
  return z.strictObject({ data: z.array(item).meta({ description }), request_id: requestId });
}

export const accountId = z.string().meta({ description: 'Id of the account, acc_…' });
export const modelId = z.string().meta({ description: 'Public id of the model' });
export const apiKeyHash = z
  .string()
  .meta({ description: 'Hash of the key that made the call; stays when the key is deleted' });
export const endpointPath = z
  .string()
  .meta({ description: 'Path that was called, e.g. /api/v1/chat/completions' });

/** Why a call or a task failed. */
export const failure = z
  .object({
    code: z.string().meta({ description: 'Stable, for programs; docs/reference/errors.md lists them' }),
    message: z.string().meta({ description: 'For people; may change' }),
  })
  .nullable()
  .meta({ description: 'Why it failed; null unless it did' });

const count = z.int().min(0);

/** The interface's usage object: six integers. */
export const usageJson = z
  .object({
    input_tokens: count.meta({
      description: 'Tokens of the prompt, those read from and written to a cache included',
    }),
    output_tokens: count.meta({ description: 'Tokens of the answer, reasoning included' }),
    total_tokens: count.meta({ description: 'input_tokens + output_tokens' }),
    cache_read_tokens: count.meta({
      description: 'Of the input tokens, those that the provider read from its cache',
    }),
    cache_write_tokens: count.meta({
      description: 'Of the input tokens, those that the provider wrote to its cache',
    }),
    reasoning_tokens: count.meta({
      description: 'Of the output tokens, those spent on reasoning; 0 where the provider does not say',
    }),
  })
  .meta({ id: 'Usage', description: 'Tokens of a call as they were charged' });

export type UsageJson = z.output<typeof usageJson>;

/** Counts as they come out of the database. */
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

/** The interface's money object. */
export const moneyJson = z
  .object({ value: usdString, currency: currencyJson })
  .meta({ id: 'Money', description: 'An amount of money' });
