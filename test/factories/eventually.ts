/** Looks until `check` returns something other than undefined or false; fails with what it last threw after `timeoutMs`. */
export async function eventually<T>(
  check: () => Promise<T | undefined | false>,
  timeoutMs = 10_000,
  what = 'the condition',
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    let failure: unknown;
    try {
      const found = await check();
      if (found !== undefined && found !== false) {
        return found;
      }
    } catch (error) {
      failure = error;
    }
    if (Date.now() > deadline) {
      throw new Error(`${what} did not come true within ${timeoutMs} ms`, { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
