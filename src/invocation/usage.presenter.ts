import { usdNumber } from '../lib/money.ts';
import type { TokenUsage } from '../lib/usage.ts';
import type { CallEnd } from './invocation.types.ts';

/** Returns the usage object of our own API. */
function presentCallUsage(usage: TokenUsage) {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    reasoning_tokens: usage.reasoningTokens,
  };
}

/** Adds the members that OpenAI clients read. `cost` follows OpenRouter: USD as a number; the generation has the exact amount. */
export function presentChatUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    cost: usdNumber(charge),
  });
}

/** Adds the members that OpenAI clients read for embeddings. */
export function presentEmbeddingsUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), {
    prompt_tokens: usage.inputTokens,
    cost: usdNumber(charge),
  });
}

/** Adds the members that OpenAI clients read for a response. */
export function presentResponsesUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), {
    input_tokens_details: { cached_tokens: usage.cacheReadTokens },
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    cost: usdNumber(charge),
  });
}

/**
 * Adds the members that Anthropic clients read. These clients add up `input_tokens`, cache reads and cache writes, so `input_tokens` is
 * the uncached part and `total_tokens` the whole.
 */
export function presentMessagesUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), presentAnthropicInput(usage), { cost: usdNumber(charge) });
}

/** Returns Anthropic's input members. A stream may send them at its beginning, because SDKs replace each of them at the end. */
export function presentAnthropicInput(usage: TokenUsage) {
  return {
    input_tokens: Math.max(0, usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens),
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
  };
}
