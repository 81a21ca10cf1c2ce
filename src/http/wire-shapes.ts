import { z } from 'zod';

const count = z.int().min(0);

/** The interface's usage object: six integers. */
export const usageJson = z
  .object({
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    cache_read_tokens: count,
    cache_write_tokens: count,
    reasoning_tokens: count,
  })
  .meta({ id: 'Usage' });

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

/** A decimal string of USD, as in every amount, balance and price. */
export const usdString = z
  .string()
  .regex(/^-?\d+\.\d{2,9}$/)
  .meta({ description: 'USD, plain decimal', examples: ['12.50'] });

/** The interface's money object. */
export const moneyJson = z.object({ value: usdString, currency: z.literal(CURRENCY) }).meta({ id: 'Money' });
