import { lacks, type ReportedUsage, type TokenUsage, type UsageSource } from '../lib/usage.ts';

export interface Evidence {
  /** Usage that the provider reports for the whole call. */
  readonly reported: ReportedUsage | undefined;
  /** Usage that the provider reported for the input alone. */
  readonly reportedInput: ReportedUsage | undefined;
  /** Our own count of the input. */
  readonly inputTokens: number;
  /** The part of `inputTokens` that any model reads as it was sent: the texts of the messages, in tokens. */
  readonly inputTokensMin: number;
  /** Our own counts of what was delivered. Functions, because counting takes time and is seldom needed. */
  readonly outputTokens: () => number;
  readonly reasoningTokens: () => number;
  /** Length of the delivered text, in UTF-16 units. */
  readonly outputLength: number;
  /** The context length, in tokens. More input than this is impossible. */
  readonly contextLength: number;
  /** Our upper bound for the input, in tokens. Replaces an impossible report. */
  readonly inputMax: number;
  /** The output cap sent to the provider, in tokens. More output than this is never charged. */
  readonly outputMax: number;
}

export interface Judgment {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  /** True when a report was changed or discarded because it cannot be true. */
  readonly absurd: boolean;
  /** The report that was not accepted, and our counts that replace it, in tokens. */
  readonly reported?: ReportedUsage | undefined;
  readonly counted?: Partial<TokenUsage> | undefined;
}

/** Vocabularies differ, and counts by a few tokens at any length: a report is suspect only below half of our count less this slack. */
const SLACK_TOKENS = 16;

function isFarBelow(reported: number, counted: number): boolean {
  return reported * 2 + SLACK_TOKENS < counted;
}

/**
 * Returns the usage of a complete answer: the provider's report if it can be true, otherwise our count. A side of which the provider reported
 * nothing credible is counted; the other side stays as reported. An input or output reported as less than half of our count is not accepted,
 * so that a provider cannot under-report an answer. Both counts are returned then.
 */
export function judgeUsage(evidence: Evidence): Judgment {
  const { reported } = evidence;
  if (!reported) {
    return countUsage(evidence);
  }
  const output = disbelievedOutput(reported, evidence);
  const input = disbelievedInput(reported, evidence);
  const inputTokens = possibleInput(input ?? reported.inputTokens, evidence);
  const outputTokens = Math.min(output ?? reported.outputTokens, evidence.outputMax);
  const cacheReadTokens = Math.min(reported.cacheReadTokens, inputTokens);
  const usage = {
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens: Math.min(reported.cacheWriteTokens, inputTokens - cacheReadTokens),
    reasoningTokens: Math.min(
      output === undefined ? reported.reasoningTokens : evidence.reasoningTokens(),
      outputTokens,
    ),
  };
  const changed = inputTokens !== reported.inputTokens || outputTokens !== reported.outputTokens;
  const absurd = changed || reported.unread !== undefined;
  if (input === undefined && output === undefined) {
    return { usage, source: 'provider', absurd };
  }
  const counted = {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
  };
  return { usage, source: 'counted', absurd, reported, counted };
}

/** Replaces a count larger than the context, which says nothing about the call, with our upper bound, which was held. */
function possibleInput(count: number, { contextLength, inputMax }: Evidence): number {
  return count > contextLength ? inputMax : count;
}

/** Returns our count of the input when the report is far below it or missing (0 although there is text), otherwise undefined. */
function disbelievedInput(reported: ReportedUsage, evidence: Evidence): number | undefined {
  const isMissing = lacks(reported, 'input') || (reported.inputTokens === 0 && evidence.inputTokensMin > 0);
  // what was read from a cache is part of the input even where the rest is missing
  return isMissing || isFarBelow(reported.inputTokens, evidence.inputTokensMin)
    ? Math.max(evidence.inputTokens, reported.inputTokens)
    : undefined;
}

/** Returns our count of the output when the report is far below it or missing (0 although there is text), otherwise undefined. */
function disbelievedOutput(reported: ReportedUsage, evidence: Evidence): number | undefined {
  if (lacks(reported, 'output')) {
    return evidence.outputTokens();
  }
  // A token is at least one letter, so most reports are confirmed without counting.
  if (reported.outputTokens > 0 && !isFarBelow(reported.outputTokens, evidence.outputLength)) {
    return undefined;
  }
  if (evidence.outputLength === 0) {
    return undefined;
  }
  const counted = evidence.outputTokens();
  return reported.outputTokens === 0 || isFarBelow(reported.outputTokens, counted) ? counted : undefined;
}

/** Returns the usage of what was delivered: the provider's input figure where it gave one, and our count of the output, at most the cap. */
export function countUsage(evidence: Evidence): Judgment {
  const { reported } = evidence;
  const input = reported && !lacks(reported, 'input') ? reported : evidence.reportedInput;
  const inputTokens = possibleInput(input?.inputTokens ?? evidence.inputTokens, evidence);
  const outputTokens = Math.min(evidence.outputTokens(), evidence.outputMax);
  return {
    source: 'counted',
    absurd: false,
    usage: {
      inputTokens,
      cacheReadTokens: input?.cacheReadTokens ?? 0,
      cacheWriteTokens: input?.cacheWriteTokens ?? 0,
      outputTokens,
      reasoningTokens: Math.min(evidence.reasoningTokens(), outputTokens),
    },
  };
}
