/** What the work resolved to, and how many seconds it took. Rejects with what it rejects with. */
export async function seconds<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const startedAt = performance.now();
  const result = await work();
  return [result, (performance.now() - startedAt) / 1_000];
}
