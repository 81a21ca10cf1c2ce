import type { LoadResult } from '../measure/clients.ts';
import { spreadOf, spreadTextOf } from '../measure/spread.ts';

/** Formats the operations per second of several rounds and the medians of their latencies. */
export function figureOf(rounds: readonly LoadResult[]): string {
  const [p50, p99] = [
    spreadOf(rounds.map(({ p50Ms }) => p50Ms)).median,
    spreadOf(rounds.map(({ p99Ms }) => p99Ms)).median,
  ];
  return `${spreadTextOf(rounds.map(({ perSecond }) => perSecond))} (p50 / p99 ${p50.toFixed(1)} / ${p99.toFixed(1)} ms)`;
}

/** Formats the ratio of two results, round by round. */
export function ratioOf(rounds: readonly LoadResult[], to: readonly LoadResult[]): string {
  return `${spreadTextOf(
    rounds.map(({ perSecond }, round) => perSecond / to[round]!.perSecond),
    2,
  )} ×`;
}
