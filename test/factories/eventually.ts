const LOOK_EVERY_MS = 10;

/** A limit this long, in ms, promises nothing. It ends a wait that would never end, on a machine that gets a fifth of its processor time, too. */
const LONG_MS = 20_000;
const PATIENCE = 4;

/**
 * The only way to wait for a condition: calls `check` until it returns something other than undefined or false. Fails after `timeoutMs`
 * (ms), or a multiple if that is long, with the last error thrown as the cause.
 */
export async function eventually<T>(
  check: () => Promise<T | undefined | false>,
  timeoutMs = 30_000,
  what = 'the condition',
): Promise<T> {
  const patientMs = timeoutMs < LONG_MS ? timeoutMs : timeoutMs * PATIENCE;
  const deadline = performance.now() + patientMs;
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
      throw new Error(`${what} was not met within ${patientMs} ms`, { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** {@link eventually} for assertions: repeats them until none fails. Fails with the last error, after the same time. */
export async function eventuallyHolds(check: () => Promise<void> | void, timeoutMs = 30_000): Promise<void> {
  const holds = async () => {
    await check();
    return true;
  };
  await eventually(holds, timeoutMs).catch((error: Error) => {
    throw error.cause ?? error;
  });
}
