/** Takes all steps of some work. Returns their number and the processor time of the longest, in µs. */
export function stepsTaken(steps: Iterator<unknown>): { readonly count: number; readonly longestUs: number } {
  let count = 0;
  let longestUs = 0;
  for (let done = false; !done; count += 1) {
    const startedAt = process.cpuUsage();
    done = steps.next().done === true;
    longestUs = Math.max(longestUs, process.cpuUsage(startedAt).user);
  }
  return { count, longestUs };
}
