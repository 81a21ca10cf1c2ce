import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once the condition holds; throws with `what` when it does not within `timeoutMs`. */
export async function waitUntil(what: string, condition: () => boolean, timeoutMs = 15_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > deadline) {
      throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    }
    await sleep(20);
  }
}
