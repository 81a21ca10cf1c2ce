import { setTimeout as delay } from 'node:timers/promises';

/**
 * Carries out `count` operations at a fixed rate, whatever they take. Each hears when it was due, by `performance.now()`: counted from
 * there, a sender that falls behind does not hide the delay.
 */
export async function runAtRate(
  count: number,
  perSecond: number,
  operation: (dueAt: number) => Promise<void>,
): Promise<void> {
  const startedAt = performance.now();
  const running: Promise<void>[] = [];
  for (let number = 0; number < count; number += 1) {
    const dueAt = startedAt + (number * 1_000) / perSecond;
    const early = dueAt - performance.now();
    // a timer takes a millisecond at least: who is late must not wait for one
    if (early > 0) {
      await delay(early);
    }
    const done = operation(dueAt);
    // a failure is thrown at the end, not while others are sent: nobody would clean up
    done.catch(() => undefined);
    running.push(done);
  }
  await Promise.all(running);
}
