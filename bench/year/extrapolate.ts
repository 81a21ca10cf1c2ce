/** What the figures are carried on to. */
export const TARGET = { accounts: 50_000, calls: 500_000_000 } as const;

export type Unit = 's' | 'ms' | 'bytes';

/** One figure at several sizes of the same number of accounts. */
export interface Series {
  readonly name: string;
  readonly unit: Unit;
  /** What it grows with, in the plural: `calls`, `calls of the month`. */
  readonly of: string;
  readonly points: readonly { readonly count: number; readonly value: number }[];
  /** How many of them there are in the target; undefined: the figure is not carried on. */
  readonly target?: number;
  /** What it must not pass, and why. */
  readonly limit?: { readonly value: number; readonly why: string };
}

export interface Line {
  /** Per one of what it grows with; never below 0. */
  readonly slope: number;
  /** What does not grow with it: taken as the cost of the accounts. */
  readonly base: number;
}

/** The straight line of least squares; through the origin where it would begin below it. */
export function lineOf({ points }: Series): Line {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(({ count }) => count)), mean(points.map(({ value }) => value))];
  const spread = points.reduce((sum, { count }) => sum + (count - x) ** 2, 0);
  const together = points.reduce((sum, { count, value }) => sum + (count - x) * (value - y), 0);
  const slope = spread === 0 ? y / x : Math.max(0, together / spread);
  const base = y - slope * x;
  return base < 0 ? { slope: y / x, base: 0 } : { slope, base };
}

/** The figure at the target, where what does not grow with calls grows with accounts; undefined without a target. */
export function atTarget(series: Series, accounts: number): number | undefined {
  const { slope, base } = lineOf(series);
  return series.target === undefined
    ? undefined
    : slope * series.target + (base * TARGET.accounts) / accounts;
}

/** How many times its limit a figure is at the target; 0 where it has no limit or is not carried on. */
export function shareOfLimit(series: Series, accounts: number): number {
  const value = atTarget(series, accounts) ?? series.points.at(-1)?.value ?? 0;
  return series.limit === undefined ? 0 : value / series.limit.value;
}
