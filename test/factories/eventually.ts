const LOOK_EVERY_MS = 10;

/**
 * The only way to wait for a condition: calls `check` until it returns something other than undefined or false. Fails after `timeoutMs`
 * (ms), with the last error thrown as the cause.
 */
export async function eventually<T>(
  check: () => Promise<T | undefined | false>,
  timeoutMs = 30_000,
  what = 'the condition',
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
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
    if (performance.now() > deadline) {
      throw new Error(`${what} was not met within ${timeoutMs} ms`, { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** {@link eventually} for assertions: repeats them until none fails. Fails with the last error after `timeoutMs` (ms). */
export async function eventuallyHolds(check: () => Promise<void> | void, timeoutMs = 30_000): Promise<void> {
  const holds = async () => {
    await check();
    return true;
  };
  await eventually(holds, timeoutMs).catch((error: Error) => {
    throw error.cause ?? error;
  });
}
