import { percentile } from '../measure/clients.ts';

/** A value and the number of calls made by then. */
export interface Point {
  readonly calls: number;
  readonly value: number;
}

export interface Trend {
  readonly start: number;
  readonly end: number;
  /** Growth per 1,000 calls over the second half of the run, when everything that fills up once is full. */
  readonly perThousand: number;
  /** Whether the second half grows by more than twice its scatter, 2 % of its middle value, and what is insignificant. */
  readonly grows: boolean;
}

/** Share of the points that count as the start and as the end. */
const EDGE = 0.1;
const INSIGNIFICANT = 0.02;

/**
 * Returns the trend of a series of readings. `insignificant`: growth over half a run that does not count as growth, in the readings' unit.
 */
export function trendOf(points: readonly Point[], insignificant: number): Trend {
  const values = points.map(({ value }) => value);
  const edge = Math.max(1, Math.round(points.length * EDGE));
  const half = points.slice(Math.floor(points.length / 2));
  const slope = medianSlope(half);
  const middle = median(half.map(({ value }) => value));
  const [first, last] = [half[0], half.at(-1)];
  const calls = first && last ? last.calls - first.calls : 0;
  const scatter = median(
    half.map(({ value, calls: at }) => Math.abs(value - middle - slope * (at - middleOf(half)))),
  );
  const growth = slope * calls;
  return {
    start: median(values.slice(0, edge)),
    end: median(values.slice(-edge)),
    perThousand: slope * 1_000,
    grows: growth > Math.max(2 * scatter, INSIGNIFICANT * Math.abs(middle), insignificant),
  };
}

/** Theil–Sen estimator: the median of the slopes of all pairs, which single peaks do not distort. */
function medianSlope(points: readonly Point[]): number {
  const slopes: number[] = [];
  for (const [index, one] of points.entries()) {
    for (const other of points.slice(index + 1)) {
      if (other.calls > one.calls) {
        slopes.push((other.value - one.value) / (other.calls - one.calls));
      }
    }
  }
  return slopes.length === 0 ? 0 : median(slopes);
}

function middleOf(points: readonly Point[]): number {
  return median(points.map(({ calls }) => calls));
}

export function median(values: readonly number[]): number {
  return percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}
