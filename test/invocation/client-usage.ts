import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { prices } from './gateway.ts';

/** Nano-USD per token, as whole numbers, so that what a client multiplies is exact. */
const PRICE = { prompt: 333n, completion: 777n, cacheRead: 33n, cacheWrite: 416n };
export const PRICING = prices('0.000000333', '0.000000777', {
  input_cache_read: '0.000000033',
  input_cache_write: '0.000000416',
});

/** Tokens a client has after its SDK has put an answer together. */
export interface Reported {
  readonly fresh: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

export const chatUsage = (usage: OpenAI.CompletionUsage | undefined): Reported => {
  const cacheRead = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  return openAiUsage(usage, usage?.prompt_tokens ?? 0, cacheRead, usage?.completion_tokens ?? 0);
};

export const responseUsage = (usage: OpenAI.Responses.ResponseUsage | undefined): Reported => {
  const cacheRead = usage?.input_tokens_details.cached_tokens ?? 0;
  return openAiUsage(usage, usage?.input_tokens ?? 0, cacheRead, usage?.output_tokens ?? 0);
};

/** OpenAI's formats count cached tokens as input, and have no member for cache writes; ours is next to theirs. */
function openAiUsage(usage: unknown, input: number, cacheRead: number, output: number): Reported {
  const { cache_write_tokens: cacheWrite } = usage as { cache_write_tokens: number };
  return { fresh: input - cacheRead - cacheWrite, cacheRead, cacheWrite, output };
}

export const messageUsage = (usage: Anthropic.Usage): Reported => ({
  fresh: usage.input_tokens,
  cacheRead: usage.cache_read_input_tokens ?? 0,
  cacheWrite: usage.cache_creation_input_tokens ?? 0,
  output: usage.output_tokens,
});

/** Returns the cost that a client computes from what was reported, in nano-USD. */
export function costOf({ fresh, cacheRead, cacheWrite, output }: Reported): bigint {
  return (
    BigInt(fresh) * PRICE.prompt +
    BigInt(cacheRead) * PRICE.cacheRead +
    BigInt(cacheWrite) * PRICE.cacheWrite +
    BigInt(output) * PRICE.completion
  );
}
