/** Returns the result of the work and its duration in seconds. Rethrows its error. */
export async function seconds<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const startedAt = performance.now();
  const result = await work();
  return [result, (performance.now() - startedAt) / 1_000];
}
