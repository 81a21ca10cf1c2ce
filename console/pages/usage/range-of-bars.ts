import { useLocation } from 'preact-iso/router';
import { to } from '../../lib/location.ts';
import { endOfBucket, rangeBetween, type TimeRange } from '../../lib/time.ts';

export interface BarActions {
  /** Goes to the log of the calls that a bar stands for. */
  onChoose(bar: number): void;
  /** Shows the time of these bars instead. */
  onRange(first: number, last: number): void;
}

/** What the bars of a chart lead to. `starts`: of the buckets they stand for, in Unix ms. */
export function useBars(
  range: TimeRange,
  starts: readonly number[],
  apiKey: string,
  zoom: (range: string) => void,
): BarActions {
  const { route } = useLocation();
  const between = (first: number, last: number) =>
    rangeBetween(starts[first] ?? 0, endOfBucket(range, starts[last] ?? 0));
  return {
    onChoose: (bar) => route(to('generations', { range: between(bar, bar), key: apiKey })),
    onRange: (first, last) => zoom(between(first, last)),
  };
}
