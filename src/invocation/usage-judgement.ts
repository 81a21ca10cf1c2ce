import type { TokenUsage, UsageSource } from '../lib/usage.ts';

export interface Evidence {
  /** What the provider reports for the whole call. */
  readonly reported: TokenUsage | undefined;
  /** What it reported of the input alone. */
  readonly reportedInput: TokenUsage | undefined;
  /** Our own count of the input. */
  readonly inputTokens: number;
  /** Of it, what any model reads as it was sent: the texts of the messages, in tokens. */
  readonly inputTokensMin: number;
  /** Our own counts of what was delivered; functions, since counting costs time and is seldom needed. */
  readonly outputTokens: () => number;
  readonly reasoningTokens: () => number;
  /** Length of what was delivered, in UTF-16 units. */
  readonly outputLength: number;
  /** More input than this is impossible. */
  readonly contextLength: number;
  /** The most that we expect of the input: what an impossible report is cut to. */
  readonly inputMax: number;
  /** The cap that the provider was given: more output than this is never charged. */
  readonly outputMax: number;
}

export interface Judgement {
  readonly usage: TokenUsage;
  readonly source: UsageSource;
  /** True when a report was changed or thrown away because it cannot be true. */
  readonly absurd: boolean;
  /** The report that was not believed, and our counts that stand against it, in tokens. */
  readonly reported?: TokenUsage | undefined;
  readonly counted?: Partial<TokenUsage> | undefined;
}

/** Counts of tokens differ by vocabulary, and by a few at any length: below half of ours and so many is no difference. */
const SLACK_TOKENS = 16;

function isFarBelow(reported: number, counted: number): boolean {
  return reported * 2 + SLACK_TOKENS < counted;
}

/**
 * The usage of a whole answer: the provider's report if it can be true, else our count. A side that is reported as less than half
 * of what we count is not believed, so that a provider cannot sell an answer short; both counts are told.
 */
export function judgeUsage(evidence: Evidence): Judgement {
  const { reported } = evidence;
  if (!reported) {
    return countUsage(evidence);
  }
  const output = disbelievedOutput(reported, evidence);
  const input = isFarBelow(reported.inputTokens, evidence.inputTokensMin) ? evidence.inputTokens : undefined;
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
  const absurd = inputTokens !== reported.inputTokens || outputTokens !== reported.outputTokens;
  if (input === undefined && output === undefined) {
    return { usage, source: 'provider', absurd };
  }
  const counted = {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
  };
  return { usage, source: 'counted', absurd, reported, counted };
}

/** A count that no context holds says nothing about the call: our bound stands for it, which was held. */
function possibleInput(count: number, { contextLength, inputMax }: Evidence): number {
  return count > contextLength ? inputMax : count;
}

/** Our count of the output where the report is far below it, or no report at all (0 beside text); else undefined. */
function disbelievedOutput(reported: TokenUsage, evidence: Evidence): number | undefined {
  // A token is at least a letter: most reports are proven without counting.
  if (reported.outputTokens > 0 && !isFarBelow(reported.outputTokens, evidence.outputLength)) {
    return undefined;
  }
  if (evidence.outputLength === 0) {
    return undefined;
  }
  const counted = evidence.outputTokens();
  return reported.outputTokens === 0 || isFarBelow(reported.outputTokens, counted) ? counted : undefined;
}

/** The usage of what was delivered: the provider's word on the input where it gave it, our count of the output, at most the cap. */
export function countUsage(evidence: Evidence): Judgement {
  const input = evidence.reported ?? evidence.reportedInput;
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
