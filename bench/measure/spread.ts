/** The results of several rounds of the same measurement. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Returns the median, least and greatest of the values; all 0 without values. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const median = ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
  return { median, least: sorted[0] ?? 0, most: sorted.at(-1) ?? 0 };
}

/** Formats as `1,532 [899–1,538]`, without the brackets when there was one round or all results are equal. */
export function spreadText({ median, least, most }: Spread, digits = 0): string {
  const [middle, from, to] = [median, least, most].map((value) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  );
  return from === to ? `${middle}` : `${middle} [${from}–${to}]`;
}

/** Returns {@link spreadText} for the values of several rounds. */
export function spreadTextOf(values: readonly number[], digits = 0): string {
  return spreadText(spreadOf(values), digits);
}
