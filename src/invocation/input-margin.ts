import type { Dialect } from '../providers/provider.types.ts';

/** How much more than our count a provider may make of an input. */
export interface InputMargin {
  /** Its tokens per token that we counted. */
  readonly ratio: number;
  /** Tokens of every call that nobody sends: a hidden preamble. */
  readonly tokens: number;
}

/**
 * Before anything was learnt, and never less. Measured for English, code and JSON: vocabularies of 32 k make up to a fifth
 * more than o200k_base, Anthropic's up to a half more.
 */
const STARTING: Readonly<Record<Dialect, InputMargin>> = {
  chat: { ratio: 1.25, tokens: 0 },
  messages: { ratio: 1.6, tokens: 0 },
};

/** A provider that reports ever more moves its margin this far at most: the ratio so many times, and to so many tokens. */
const RATIO_GROWTH_MAX = 2;
const TOKENS_MAX = 2_048;
/** One report moves the margin by so much at most: the ratio by a share of itself, and by tokens. */
const RATIO_STEP = 0.08;
const TOKENS_STEP = 128;
/** A report below the margin moves it back by this share of a step, so that about one report in fifty lies above it. */
const STEP_BACK = 1 / 50;
/** From this count on a report tells of the ratio, below it of what comes on top, in tokens. */
const LONG_INPUT = 1_000;

/** The margin within its bounds; undefined: nothing was learnt. */
export function boundedMargin(learnt: InputMargin | undefined, dialect: Dialect): InputMargin {
  const start = STARTING[dialect];
  if (!learnt) {
    return start;
  }
  return {
    ratio: Math.min(Math.max(learnt.ratio, start.ratio), start.ratio * RATIO_GROWTH_MAX),
    tokens: Math.min(Math.max(learnt.tokens, start.tokens), TOKENS_MAX),
  };
}

/**
 * The margin after one more report of a provider. It follows a high quantile of what the reports need: up in bounded steps, back
 * in small ones. So a template is learnt within a few calls, and one report, true or not, changes little.
 */
export function learnMargin(
  margin: InputMargin,
  { spelledTokens, framingTokens }: { readonly spelledTokens: number; readonly framingTokens: number },
  reportedTokens: number,
): InputMargin {
  const { ratio, tokens } = margin;
  const spelledByProvider = reportedTokens - framingTokens;
  if (spelledTokens >= LONG_INPUT) {
    const needed = (spelledByProvider - tokens) / spelledTokens;
    return { ratio: stepped(ratio, needed, ratio * RATIO_STEP), tokens };
  }
  return { ratio, tokens: stepped(tokens, spelledByProvider - ratio * spelledTokens, TOKENS_STEP) };
}

function stepped(value: number, needed: number, step: number): number {
  return needed > value ? Math.min(needed, value + step) : Math.max(needed, value - step * STEP_BACK);
}

/** What two that learn apart know together: where one moved up the larger, else both moves back. */
export function mergedMargin(theirs: InputMargin, before: InputMargin, ours: InputMargin): InputMargin {
  return {
    ratio: merged(theirs.ratio, before.ratio, ours.ratio),
    tokens: merged(theirs.tokens, before.tokens, ours.tokens),
  };
}

function merged(theirs: number, before: number, ours: number): number {
  return ours > before ? Math.max(theirs, ours) : theirs - (before - ours);
}
