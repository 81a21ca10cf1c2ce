import { sumUsd, usd } from '../lib/money.ts';
import type { CostRow, UsageRow } from './types.gen.ts';

/** Sums of cost rows, grouped by one field and split into the buckets of a range. */
export interface Spending {
  readonly total: bigint;
  /** Groups, most expensive first. */
  readonly groups: readonly SpendingGroup[];
}

export interface SpendingGroup {
  readonly name: string;
  readonly total: bigint;
  /** One per bucket. */
  readonly values: readonly bigint[];
}

/** Sums rows exactly: the total is the sum of the rows, which matches the ledger. `buckets`: their start times in Unix ms. */
export function spendingOf(
  rows: readonly CostRow[],
  buckets: readonly number[],
  nameOf: (row: CostRow) => string,
): Spending {
  const groups = grouped(rows, buckets, nameOf, (row) => usd(row.amount.value));
  return { total: sumUsd(groups.map(({ total }) => total)), groups };
}

/** Returns counts of usage rows by model, highest first. */
export function countsOf(
  rows: readonly UsageRow[],
  buckets: readonly number[],
  countOf: (row: UsageRow) => number,
): SpendingGroup[] {
  return grouped(
    rows,
    buckets,
    ({ model }) => model,
    (row) => BigInt(countOf(row)),
  );
}

/**
 * Groups rows, largest first. Every row counts in the total, even one for which no bucket exists yet because this clock is behind
 * the service's.
 */
function grouped<Row extends { readonly period_start: string }>(
  rows: readonly Row[],
  buckets: readonly number[],
  nameOf: (row: Row) => string,
  countOf: (row: Row) => bigint,
): SpendingGroup[] {
  const positions = new Map(buckets.map((start, index) => [start, index]));
  const groups = new Map<string, { name: string; values: bigint[]; total: bigint }>();
  for (const row of rows) {
    const name = nameOf(row);
    const group = groups.get(name) ?? { name, values: buckets.map(() => 0n), total: 0n };
    groups.set(name, group);
    const value = countOf(row);
    group.total += value;
    const position = positions.get(Date.parse(row.period_start));
    if (position !== undefined) {
      group.values[position] = (group.values[position] ?? 0n) + value;
    }
  }
  return [...groups.values()].sort((first, second) =>
    first.total === second.total ? 0 : first.total < second.total ? 1 : -1,
  );
}

const SERIES_MAX = 5;

/** Returns at most five groups with their own colors, and one for everything else. */
export function chartSeries(
  groups: readonly SpendingGroup[],
  otherName: (count: number) => string,
): { name: string; values: readonly bigint[]; color: number }[] {
  const shown = groups.slice(0, groups.length === SERIES_MAX + 1 ? SERIES_MAX + 1 : SERIES_MAX);
  const rest = groups.slice(shown.length);
  const taken = new Set<number>();
  const series = shown.map(({ name, values }) => ({ name, values, color: colorOf(name, taken) }));
  if (rest.length === 0) {
    return series;
  }
  const values = (rest[0]?.values ?? []).map((_, bucket) =>
    sumUsd(rest.map((group) => group.values[bucket] ?? 0n)),
  );
  return [...series, { name: otherName(rest.length), values, color: SERIES_MAX + 1 }];
}

/** Picks a color by name: a name has the same color on every page, unless a more expensive group of the same chart uses it. */
function colorOf(name: string, taken: Set<number>): number {
  let hash = 0;
  for (const character of name) {
    hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  }
  for (let step = 0; step < SERIES_MAX; step += 1) {
    const color = ((hash + step) % SERIES_MAX) + 1;
    if (!taken.has(color)) {
      taken.add(color);
      return color;
    }
  }
  return SERIES_MAX + 1;
}
