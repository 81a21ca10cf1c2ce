import { QueueUnavailableError } from '../queues/producer.ts';
import type { Logger } from '../src/lib/logger.ts';

/** Ms between two lines about the same trouble. */
const REPEAT_MS = 30_000;

/** Logs what fails and is tried again by itself: once per subject and half minute, not once per try. */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #lastAt = new Map<string, number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Something that will be tried again failed. `subject` names it among few. */
  warn(error: unknown, subject: string): void {
    // Redis being away is logged by its own connection.
    if (error instanceof QueueUnavailableError) {
      return;
    }
    const now = performance.now();
    if (now - (this.#lastAt.get(subject) ?? Number.NEGATIVE_INFINITY) >= REPEAT_MS) {
      this.#lastAt.set(subject, now);
      this.#log.warn({ error, subject }, 'failed, and will be tried again');
    }
  }
}
