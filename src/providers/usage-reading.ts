import { lacks, NO_USAGE, type ReportedUsage } from '../lib/usage.ts';
import { isObject, type JsonObject, objectOf, objectsOf } from './json.ts';

/**
 * Converts OpenAI's usage to {@link ReportedUsage}: `prompt_tokens` already includes cached tokens, `completion_tokens` reasoning tokens.
 * Returns undefined when it is missing or empty (all zero). A side that is missing or not credible (negative, fractional, not a number) is
 * named as unread, and takes nothing from the other; a detail that is not credible is ignored. Besides OpenAI's names it reads Anthropic's,
 * numbers written as text, the flat cache and reasoning counts of DeepSeek, Kimi, Together, Mistral and Perplexity, the cache writes of
 * OpenRouter and Qwen, and the tokens of texts that Perplexity's searches read, which it bills as input on top of the prompt.
 */
export function readChatUsage(value: unknown): ReportedUsage | undefined {
  if (!isObject(value)) {
    return undefined;
  }
  const promptDetails = objectOf(value.prompt_tokens_details ?? value.input_tokens_details);
  const outputDetails = objectOf(value.completion_tokens_details ?? value.output_tokens_details);
  const total = countOf(value.total_tokens);
  const reported = countOf(value.completion_tokens ?? value.output_tokens);
  const prompt = countOf(value.prompt_tokens ?? value.input_tokens) ?? difference(total, reported);
  const output = reported ?? difference(total, prompt);
  // by Anthropic's names; where they exceed the prompt they cannot be part of it
  const cached = firstCount(value.cache_read_input_tokens) + firstCount(value.cache_creation_input_tokens);
  const apart = cached > (prompt ?? 0) ? cached : 0;
  const given = value.prompt_tokens ?? value.input_tokens ?? value.completion_tokens ?? value.output_tokens;
  if (given === undefined || given === null) {
    return undefined;
  }
  return withRest(
    {
      unread: unreadSides(prompt === undefined, output === undefined),
      inputTokens: (prompt ?? 0) + apart + firstCount(value.citation_tokens),
      outputTokens: output ?? 0,
      // many servers send a zero under one name and the count under another
      cacheReadTokens: largestCount(
        promptDetails.cached_tokens,
        objectOf(value.prompt_token_details).cached_tokens,
        value.prompt_cache_hit_tokens,
        value.cached_tokens,
        value.num_cached_tokens,
        value.cache_read_input_tokens,
      ),
      cacheWriteTokens: largestCount(
        promptDetails.cache_write_tokens,
        promptDetails.cache_creation_tokens,
        promptDetails.cache_creation_input_tokens,
        value.cache_creation_input_tokens,
      ),
      reasoningTokens: largestCount(outputDetails.reasoning_tokens, value.reasoning_tokens),
    },
    total,
  );
}

/**
 * Converts Anthropic's usage to {@link ReportedUsage}: its `input_tokens` excludes cache reads and writes, which are added back.
 * Returns undefined when it is missing or empty; for one side that is not credible see {@link readChatUsage}.
 */
export function readMessagesUsage(value: unknown): ReportedUsage | undefined {
  if (!isObject(value)) {
    return undefined;
  }
  const report = withIterations(value);
  const input = countOf(report.input_tokens);
  const output = countOf(report.output_tokens);
  const given = report.input_tokens ?? report.output_tokens;
  if (given === undefined || given === null) {
    return undefined;
  }
  const writes = objectOf(report.cache_creation);
  const cacheReadTokens = firstCount(report.cache_read_input_tokens);
  const cacheWriteTokens =
    countOf(report.cache_creation_input_tokens) ??
    firstCount(writes.ephemeral_5m_input_tokens) + firstCount(writes.ephemeral_1h_input_tokens);
  return consistent({
    unread: unreadSides(input === undefined, output === undefined),
    inputTokens: (input ?? 0) + cacheReadTokens + cacheWriteTokens,
    outputTokens: output ?? 0,
    cacheReadTokens,
    cacheWriteTokens,
    reasoningTokens: firstCount(objectOf(value.output_tokens_details).thinking_tokens),
  });
}

/** Returns the input side of a report alone. Undefined when it has none. */
export function inputSide(usage: ReportedUsage | undefined): ReportedUsage | undefined {
  return usage && !lacks(usage, 'input')
    ? { ...usage, unread: undefined, outputTokens: 0, reasoningTokens: 0 }
    : undefined;
}

/** Counts in a report that are billed for each turn the model took within the call. */
const BILLED_COUNTS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;

/**
 * Returns a report with everything that was billed. Work besides the answer (a compaction, an adviser) appears only in `iterations`, whose
 * sum is the bill; the top-level counts cover the answer only.
 */
function withIterations(report: JsonObject): JsonObject {
  const iterations = objectsOf(report.iterations);
  if (iterations.length === 0) {
    return report;
  }
  const billed: Record<string, unknown> = { ...report };
  for (const name of BILLED_COUNTS) {
    const sum = iterations.reduce((total, iteration) => total + firstCount(iteration[name]), 0);
    if (sum > firstCount(report[name])) {
      billed[name] = sum;
    }
  }
  return billed;
}

/**
 * Merges two reports of one Anthropic stream. They are cumulative, so the larger value of each member wins; a closing report
 * of zeros or nonsense from a proxy takes nothing back.
 */
export function joinMessagesReports(earlier: JsonObject, later: unknown): JsonObject {
  const joined: Record<string, unknown> = { ...earlier };
  for (const [name, value] of Object.entries(objectOf(later))) {
    const count = countOf(value);
    // what is not a number may be details, but it does not replace a number
    const isNews = value !== null && countOf(earlier[name]) === undefined;
    if (count === undefined ? isNews : count >= firstCount(earlier[name])) {
      joined[name] = value;
    }
  }
  return joined;
}

/** Merges two cumulative reports: the larger value of each member wins. */
export function laterUsage(earlier: ReportedUsage | undefined, later: ReportedUsage): ReportedUsage {
  if (!earlier) {
    return later;
  }
  const both = [earlier, later];
  return consistent({
    unread: unreadSides(
      both.every((one) => lacks(one, 'input')),
      both.every((one) => lacks(one, 'output')),
    ),
    inputTokens: Math.max(earlier.inputTokens, later.inputTokens),
    outputTokens: Math.max(earlier.outputTokens, later.outputTokens),
    cacheReadTokens: Math.max(earlier.cacheReadTokens, later.cacheReadTokens),
    cacheWriteTokens: Math.max(earlier.cacheWriteTokens, later.cacheWriteTokens),
    reasoningTokens: Math.max(earlier.reasoningTokens, later.reasoningTokens),
  }) as ReportedUsage;
}

/**
 * Adds the tokens that `total_tokens` has beyond prompt and completion, since they were billed too: Gemini leaves its thinking
 * out of `completion_tokens`, xAI its reasoning, and proxies in front of Anthropic leave cached tokens out of `prompt_tokens`.
 * Reasoning that exceeds the completion cannot be part of it and is added (Perplexity).
 */
function withRest(usage: ReportedUsage, total: number | undefined): ReportedUsage | undefined {
  if (usage.unread !== undefined) {
    return consistent(usage);
  }
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  const rest = (total ?? 0) - inputTokens - outputTokens;
  const cached = usage.cacheReadTokens + usage.cacheWriteTokens;
  if (rest > 0 && rest === cached) {
    return consistent({ ...usage, inputTokens: inputTokens + cached });
  }
  if (rest > 0) {
    return consistent({
      ...usage,
      outputTokens: outputTokens + rest,
      reasoningTokens: Math.max(reasoningTokens, rest),
    });
  }
  return consistent(
    reasoningTokens > outputTokens ? { ...usage, outputTokens: outputTokens + reasoningTokens } : usage,
  );
}

/** Caps each part at its whole, since the excess would be billed twice. Returns undefined for all zeros: a placeholder, not a report. */
function consistent(usage: ReportedUsage): ReportedUsage | undefined {
  const { unread, inputTokens, outputTokens } = usage;
  if (inputTokens === 0 && outputTokens === 0) {
    return unread && UNREAD;
  }
  const cacheReadTokens = Math.min(usage.cacheReadTokens, inputTokens);
  return {
    unread,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens: Math.min(usage.cacheWriteTokens, inputTokens - cacheReadTokens),
    reasoningTokens: Math.min(usage.reasoningTokens, outputTokens),
  };
}

/** A zero beside nonsense is a placeholder, too. */
const UNREAD: ReportedUsage = { ...NO_USAGE, unread: 'both' };

function unreadSides(input: boolean, output: boolean): ReportedUsage['unread'] {
  return input && output ? 'both' : input ? 'input' : output ? 'output' : undefined;
}

function difference(whole: number | undefined, part: number | undefined): number | undefined {
  return whole === undefined || part === undefined || part > whole ? undefined : whole - part;
}

/** Returns the first credible count, or 0 if there is none. */
function firstCount(...values: readonly unknown[]): number {
  for (const value of values) {
    const count = countOf(value);
    if (count !== undefined) {
      return count;
    }
  }
  return 0;
}

/** Returns the largest credible count, or 0 if there is none. */
function largestCount(...values: readonly unknown[]): number {
  return Math.max(...values.map((value) => firstCount(value)));
}

function countOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined;
}
