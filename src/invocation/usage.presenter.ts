import { usdNumber } from '../lib/money.ts';
import type { TokenUsage } from '../lib/usage.ts';
import type { CallEnd } from './invocation.types.ts';

/** The interface's usage object. */
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

/** … and the members that OpenAI's clients read, with `cost` as OpenRouter's do: USD as a number, exact on the generation. */
export function presentChatUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cacheReadTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    cost: usdNumber(charge),
  });
}

/** … and the members that OpenAI's clients read of embeddings. */
export function presentEmbeddingsUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), {
    prompt_tokens: usage.inputTokens,
    cost: usdNumber(charge),
  });
}

/** … and the members that OpenAI's clients read of a response. */
export function presentResponsesUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), {
    input_tokens_details: { cached_tokens: usage.cacheReadTokens },
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    cost: usdNumber(charge),
  });
}

/**
 * … and the members that Anthropic's clients read. They add up `input_tokens`, cache reads and cache writes, so it is the uncached part;
 * `total_tokens` is the whole.
 */
export function presentMessagesUsage({ usage, charge }: CallEnd) {
  return Object.assign(presentCallUsage(usage), presentAnthropicInput(usage), { cost: usdNumber(charge) });
}

/** Anthropic's input members: what a stream may say at its beginning, because SDKs replace each of them at the end. */
export function presentAnthropicInput(usage: TokenUsage) {
  return {
    input_tokens: Math.max(0, usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens),
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
  };
}
