import type { TokenUsage } from '../lib/usage.ts';

/** The interface's usage object. */
export function presentUsage(usage: TokenUsage) {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    reasoning_tokens: usage.reasoningTokens,
  };
}

/** … and the members that OpenAI's clients read. */
export function presentChatUsage(usage: TokenUsage) {
  return Object.assign(presentUsage(usage), {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
  });
}

/** … and the members that Anthropic's clients read. */
export function presentMessagesUsage(usage: TokenUsage) {
  return Object.assign(presentUsage(usage), {
    cache_read_input_tokens: usage.cacheReadTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
  });
}
