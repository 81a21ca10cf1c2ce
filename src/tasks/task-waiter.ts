import type { StopSignal } from '../lib/stop-signal.ts';
import type { TaskReadsStore } from './task-reads.store.ts';

const LOOK_MS = 200;
/** Maximum long-polls that this process holds; further ones are answered at once, like ordinary polls. */
const WAITERS_MAX = 2_000;

/** Waits for tasks to end, with a single query for all callers that wait. */
export class TaskWaiter {
  readonly #reads: Pick<TaskReadsStore, 'findEnded'>;
  readonly #waiting = new Map<string, Set<() => void>>();
  #waiters = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(reads: Pick<TaskReadsStore, 'findEnded'>) {
    this.#reads = reads;
  }

  /** Resolves when the task has ended, after `milliseconds`, or when the signal aborts, whichever is first. Never throws. */
  async wait(taskId: string, milliseconds: number, signal: StopSignal): Promise<void> {
    if (milliseconds <= 0 || signal.aborted || this.#waiters >= WAITERS_MAX) {
      return;
    }
    this.#waiters += 1;
    let done: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      done = resolve;
    });
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done, { once: true });
    this.#add(taskId, done);
    await ended;
    clearTimeout(timer);
    signal.removeEventListener('abort', done);
    this.#remove(taskId, done);
    this.#waiters -= 1;
  }

  /** Releases every caller that waits. */
  close(): void {
    clearTimeout(this.#timer);
    for (const waiters of this.#waiting.values()) {
      for (const done of waiters) {
        done();
      }
    }
  }

  #add(taskId: string, done: () => void): void {
    const waiters = this.#waiting.get(taskId) ?? new Set();
    waiters.add(done);
    this.#waiting.set(taskId, waiters);
    this.#timer ??= setTimeout(() => void this.#look(), LOOK_MS);
  }

  #remove(taskId: string, done: () => void): void {
    const waiters = this.#waiting.get(taskId);
    waiters?.delete(done);
    if (waiters?.size === 0) {
      this.#waiting.delete(taskId);
    }
  }

  async #look(): Promise<void> {
    try {
      for (const taskId of await this.#reads.findEnded([...this.#waiting.keys()])) {
        for (const done of this.#waiting.get(taskId) ?? []) {
          done();
        }
      }
    } catch {
      // Each waiter's timeout is the safety net.
    }
    this.#timer = this.#waiting.size > 0 ? setTimeout(() => void this.#look(), LOOK_MS) : undefined;
  }
}
