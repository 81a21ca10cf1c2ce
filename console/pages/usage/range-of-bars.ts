import { useLocation } from 'preact-iso/router';
import { to } from '../../lib/location.ts';
import { endOfBucket, rangeBetween, type TimeRange } from '../../lib/time.ts';

export interface BarActions {
  /** Opens the log of the calls in a bar. */
  onChoose(bar: number): void;
  /** Narrows the range to these bars. */
  onRange(first: number, last: number): void;
}

/** Returns the actions of a chart's bars. `starts`: start times of their buckets, in Unix ms. */
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
