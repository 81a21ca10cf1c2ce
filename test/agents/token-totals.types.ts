/** Tokens as a whole: `input` holds what a cache served. */
export interface TokenTotals {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
}
