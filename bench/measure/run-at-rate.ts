import { setTimeout as delay } from 'node:timers/promises';

/**
 * Starts `count` operations at a fixed rate, however long they take. Each receives the time when it was due, by `performance.now()`;
 * latency counted from there does not hide the delay of a sender that falls behind.
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
    // a timer takes at least a millisecond, so a late sender must not wait for one
    if (early > 0) {
      await delay(early);
    }
    const done = operation(dueAt);
    // failures are thrown at the end: thrown while others are being sent, nobody would clean up
    done.catch(() => undefined);
    running.push(done);
  }
  await Promise.all(running);
}
