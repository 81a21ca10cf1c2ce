import type { TokenUsage, UsageSource } from '../lib/usage.ts';

export interface Evidence {
  /** What the provider reports for the whole call. */
  readonly reported: TokenUsage | undefined;
  /** What it reported of the input alone. */
  readonly reportedInput: TokenUsage | undefined;
  /** Our own count of the input. */
  readonly inputTokens: number;
  /** Our own counts of what was delivered; functions, since counting costs time and is seldom needed. */
  readonly outputTokens: () => number;
  readonly reasoningTokens: () => number;
  /** True when anything at all was delivered. */
  readonly delivered: boolean;
  /** More input than this is impossible. */
  readonly contextLength: number;
  /** The cap that the provider was given: more output than this is never charged. */
  readonly outputMax: number;
}

export interface Verdict {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  /** True when a report was changed or thrown away because it cannot be true. */
  readonly absurd: boolean;
}

/** The usage of a whole answer: the provider's report if it can be true, else our count. */
export function judgeUsage(evidence: Evidence): Verdict {
  const { reported } = evidence;
  // Output of 0 beside delivered text is a placeholder that nobody filled in.
  if (!reported || (reported.outputTokens === 0 && evidence.delivered)) {
    return { ...countUsage(evidence), absurd: reported !== undefined };
  }
  const inputTokens = Math.min(reported.inputTokens, evidence.contextLength);
  const outputTokens = Math.min(reported.outputTokens, evidence.outputMax);
  const cacheReadTokens = Math.min(reported.cacheReadTokens, inputTokens);
  const usage = {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens: Math.min(reported.cacheWriteTokens, inputTokens - cacheReadTokens),
    reasoningTokens: Math.min(reported.reasoningTokens, outputTokens),
  };
  const absurd = inputTokens !== reported.inputTokens || outputTokens !== reported.outputTokens;
  return { usage, source: 'provider', absurd };
}

/** The usage of what was delivered: the provider's word on the input where it gave it, our count of the output, at most the cap. */
export function countUsage(evidence: Evidence): { usage: TokenUsage; source: UsageSource } {
  const input = evidence.reported ?? evidence.reportedInput;
  const inputTokens = Math.min(input?.inputTokens ?? evidence.inputTokens, evidence.contextLength);
  const outputTokens = Math.min(evidence.outputTokens(), evidence.outputMax);
  return {
    source: 'counted',
    usage: {
      inputTokens,
      cacheReadTokens: input?.cacheReadTokens ?? 0,
      cacheWriteTokens: input?.cacheWriteTokens ?? 0,
      outputTokens,
      reasoningTokens: Math.min(evidence.reasoningTokens(), outputTokens),
    },
  };
}
