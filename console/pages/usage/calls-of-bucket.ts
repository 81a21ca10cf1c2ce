import { useLocation } from 'preact-iso/router';
import { to } from '../../lib/location.ts';
import { rangeOfBucket } from '../../lib/time.ts';

/** Goes to the log of the calls that a bar stands for. */
export function useCallsOf(apiKey: string): (startMs: number, bucketMs: number) => void {
  const { route } = useLocation();
  return (startMs, bucketMs) =>
    route(to('generations', { range: rangeOfBucket(startMs, bucketMs), key: apiKey }));
}
