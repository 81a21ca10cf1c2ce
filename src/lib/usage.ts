/** Physical usage of one generation in tokens, after the provider's adapter has normalised it. */
export interface TokenUsage {
  /** Includes cache reads and cache writes. */
  readonly inputTokens: number;
  /** Includes reasoning. */
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
}

export const NO_USAGE: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

/** Where the numbers come from: the provider's own report, our tokenizer, or nothing was used. */
export type UsageSource = 'provider' | 'counted' | 'none';
