/**
 * Takes all steps of some work. Returns their number, the processor time of all in µs, and the share that the longest has of it, which
 * unlike a time is the same on a slow machine.
 */
export function stepsTaken(steps: Iterator<unknown>): {
  readonly count: number;
  readonly totalUs: number;
  readonly longestShare: number;
} {
  let count = 0;
  let totalUs = 0;
  let longestUs = 0;
  for (let done = false; !done; count += 1) {
    const startedAt = process.cpuUsage();
    done = steps.next().done === true;
    const { user } = process.cpuUsage(startedAt);
    totalUs += user;
    longestUs = Math.max(longestUs, user);
  }
  return { count, totalUs, longestShare: longestUs / Math.max(1, totalUs) };
}
