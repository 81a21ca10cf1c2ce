import type { TokenUsage } from '../lib/usage.ts';
import { isObject, type JsonObject, objectOf } from './json.ts';

/**
 * OpenAI's usage in our algebra: `prompt_tokens` already includes cached ones, `completion_tokens` reasoning ones.
 * Undefined when it is missing or not credible (negative, fractional, no number).
 * Read beside it: DeepSeek's cache hits, OpenRouter's cache writes, and xAI's habit of leaving reasoning out of
 * `completion_tokens` while counting it into `total_tokens`.
 */
export function readChatUsage(value: unknown): TokenUsage | undefined {
  if (!isObject(value)) {
    return undefined;
  }
  const promptDetails = objectOf(value.prompt_tokens_details);
  const reasoning = optional(objectOf(value.completion_tokens_details).reasoning_tokens);
  const input = value.prompt_tokens;
  const completion = value.completion_tokens;
  if (!isCount(input) || !isCount(completion) || reasoning === undefined) {
    return undefined;
  }
  const leftOut = reasoning > 0 && value.total_tokens === input + completion + reasoning;
  return consistent({
    inputTokens: input,
    outputTokens: leftOut ? completion + reasoning : completion,
    cacheReadTokens: optional(promptDetails.cached_tokens ?? value.prompt_cache_hit_tokens),
    cacheWriteTokens: optional(promptDetails.cache_write_tokens),
    reasoningTokens: reasoning,
  });
}

/**
 * Anthropic's usage in our algebra: there `input_tokens` excludes cache reads and writes, which are added back.
 * A stream reports twice (start and end, cumulative); the later report's members win over the earlier one's.
 */
export function readMessagesUsage(...reports: readonly unknown[]): TokenUsage | undefined {
  const merged: Record<string, unknown> = {};
  for (const report of reports.filter(isObject)) {
    Object.assign(merged, Object.fromEntries(Object.entries(report).filter(([, value]) => value != null)));
  }
  const cacheRead = optional(merged.cache_read_input_tokens);
  const cacheWrite = optional(merged.cache_creation_input_tokens);
  if (!isCount(merged.input_tokens) || !isCount(merged.output_tokens)) {
    return undefined;
  }
  if (cacheRead === undefined || cacheWrite === undefined) {
    return undefined;
  }
  return consistent({
    inputTokens: merged.input_tokens + cacheRead + cacheWrite,
    outputTokens: merged.output_tokens,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    reasoningTokens: optional(objectOf(merged.output_tokens_details as JsonObject).thinking_tokens),
  });
}

/** Parts never exceed their whole: a part that does would be billed twice. */
function consistent(
  usage: { readonly [Name in keyof TokenUsage]: number | undefined },
): TokenUsage | undefined {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  if (inputTokens === undefined || outputTokens === undefined) {
    return undefined;
  }
  if (cacheReadTokens === undefined || cacheWriteTokens === undefined || reasoningTokens === undefined) {
    return undefined;
  }
  const read = Math.min(cacheReadTokens, inputTokens);
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: read,
    cacheWriteTokens: Math.min(cacheWriteTokens, inputTokens - read),
    reasoningTokens: Math.min(reasoningTokens, outputTokens),
  };
}

/** Absent counts as 0; present but absurd as undefined. */
function optional(value: unknown): number | undefined {
  if (value === undefined || value === null) {
    return 0;
  }
  return isCount(value) ? value : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
