import type { Dialect } from '../providers/provider.types.ts';

/** How much higher than ours a provider's count of an input may be. */
export interface InputMargin {
  /** Provider tokens per token that we counted. */
  readonly ratio: number;
  /** Tokens the provider adds to every call: a hidden preamble. */
  readonly tokens: number;
}

/**
 * Margins before anything is learned, and the minimum afterwards. Measured for English, code and JSON: vocabularies of 32 k count up to a
 * fifth more than o200k_base, Anthropic's up to a half more.
 */
const STARTING: Readonly<Record<Dialect, InputMargin>> = {
  chat: { ratio: 1.25, tokens: 0 },
  messages: { ratio: 1.6, tokens: 0 },
};

/** Upper limits of a margin, however much a provider reports: the ratio as a multiple of its starting value, and the tokens. */
const RATIO_GROWTH_MAX = 2;
const TOKENS_MAX = 2_048;
/** The most one report can raise the margin: the ratio by a share of itself, the tokens by a fixed number. */
const RATIO_STEP = 0.08;
const TOKENS_STEP = 128;
/** A report below the margin lowers it by this share of a step, so that about one report in fifty lies above the margin. */
const STEP_BACK = 1 / 50;
/** Input size, in tokens, from which a report adjusts the ratio. Shorter inputs adjust the added tokens. */
const LONG_INPUT = 1_000;

/** Clamps a learned margin to its bounds. Returns the starting margin when nothing was learned. */
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
 * Returns the margin after one more provider report. It follows a high quantile of what the reports need: up in bounded steps, down in
 * small ones. A template is learned within a few calls, while a single report, true or not, changes little.
 */
export function updatedMargin(
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

/** Merges what two processes learned separately: the larger margin where one grew, otherwise the sum of both decreases. */
export function mergedMargin(theirs: InputMargin, before: InputMargin, ours: InputMargin): InputMargin {
  return {
    ratio: merged(theirs.ratio, before.ratio, ours.ratio),
    tokens: merged(theirs.tokens, before.tokens, ours.tokens),
  };
}

function merged(theirs: number, before: number, ours: number): number {
  return ours > before ? Math.max(theirs, ours) : theirs - (before - ours);
}
