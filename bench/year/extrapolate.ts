/** The size that the figures are extrapolated to. */
export const TARGET = { accounts: 50_000, calls: 500_000_000 } as const;

export type Unit = 's' | 'ms' | 'bytes';

/** One figure at several sizes of the same number of accounts. */
export interface Series {
  readonly name: string;
  readonly unit: Unit;
  /** The unit it grows with, in the plural: `calls`, `calls of the month`. */
  readonly of: string;
  readonly points: readonly { readonly count: number; readonly value: number }[];
  /** Number of them at the target. Undefined when the figure is not extrapolated. */
  readonly target?: number;
  /** The limit it must not exceed, and why. */
  readonly limit?: { readonly value: number; readonly why: string };
}

export interface Line {
  /** Growth per unit of what it grows with; never below 0. */
  readonly slope: number;
  /** The constant part, taken as the cost of the accounts. */
  readonly base: number;
}

/** Returns the least-squares line, forced through the origin when its intercept would be negative. */
export function lineOf({ points }: Series): Line {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(({ count }) => count)), mean(points.map(({ value }) => value))];
  const spread = points.reduce((sum, { count }) => sum + (count - x) ** 2, 0);
  const together = points.reduce((sum, { count, value }) => sum + (count - x) * (value - y), 0);
  const slope = spread === 0 ? y / x : Math.max(0, together / spread);
  const base = y - slope * x;
  return base < 0 ? { slope: y / x, base: 0 } : { slope, base };
}

/** Returns the figure at the target, where the part that does not grow with calls grows with accounts. Undefined without a target. */
export function atTarget(series: Series, accounts: number): number | undefined {
  const { slope, base } = lineOf(series);
  return series.target === undefined
    ? undefined
    : slope * series.target + (base * TARGET.accounts) / accounts;
}

/** Returns the ratio of a figure to its limit, at the target or, without one, at the largest size; 0 without a limit. */
export function shareOfLimit(series: Series, accounts: number): number {
  const value = atTarget(series, accounts) ?? series.points.at(-1)?.value ?? 0;
  return series.limit === undefined ? 0 : value / series.limit.value;
}
