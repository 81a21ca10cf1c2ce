/** Usage of one generation in tokens, as normalized by the provider's adapter. */
export interface TokenUsage {
  /** Includes cache reads and cache writes. */
  readonly inputTokens: number;
  /** Includes reasoning. */
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
}

/** Usage as a provider reports it. A side for which it gives no credible number is named here; its count is then a part of it, or 0. */
export interface ReportedUsage extends TokenUsage {
  readonly unread?: 'input' | 'output' | 'both' | undefined;
}

/** Returns whether a report says nothing credible about this side. */
export function lacks({ unread }: ReportedUsage, side: 'input' | 'output'): boolean {
  return unread === side || unread === 'both';
}

export const NO_USAGE: TokenUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
};

/** Source of the numbers: the provider's report, Tollgate's own tokenizer, or none because nothing was used. */
export type UsageSource = 'provider' | 'counted' | 'none';
