import { QueueUnavailableError } from '../queues/producer.ts';
import type { Logger } from '../src/lib/logger.ts';

/** Minimum ms between two lines about the same problem. */
const REPEAT_MS = 30_000;

/** Logs failures that are retried anyway: once per subject and half minute, not once per attempt. */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #lastAt = new Map<string, number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Logs a failure that will be retried. `subject` is one of a few fixed names. */
  warn(error: unknown, subject: string): void {
    // The connection itself logs that Redis is away.
    if (error instanceof QueueUnavailableError) {
      return;
    }
    const now = performance.now();
    if (now - (this.#lastAt.get(subject) ?? Number.NEGATIVE_INFINITY) >= REPEAT_MS) {
      this.#lastAt.set(subject, now);
      this.#log.warn({ error, subject }, 'failed, will be retried');
    }
  }
}
