import type { Logger } from '../src/lib/logger.ts';
import { pause } from '../src/lib/pause.ts';
import type { RemoteRun } from '../src/remote-workers/client/remote-claims.ts';
import type { AttemptOutcome } from '../src/tasks/generate.types.ts';
import { taskFields } from '../src/tasks/task-fields.ts';

export interface RemotePoolParts {
  /** Name of the pool's queue, the same as for in-network workers. */
  readonly name: string;
  /** Maximum number of tasks that run at once. */
  readonly slots: number;
  /** Waits for a task; undefined when none came. Rejects when the API is away or the signal aborts. */
  readonly next: (signal: AbortSignal) => Promise<RemoteRun | undefined>;
  readonly run: (task: RemoteRun, signal: AbortSignal) => Promise<AttemptOutcome>;
  readonly onError: (error: Error) => void;
  readonly log: Logger;
}

/** Ms before the API is asked again after a failed request; doubles each time. */
const AGAIN_MS = { first: 500, most: 10_000 };

/** Takes the tasks of one pool from the API, with one request at a time while a slot is free. Runs until closed. */
export class RemotePool {
  readonly #parts: RemotePoolParts;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<void>>();
  readonly #serving: Promise<void>;
  /** Aborts the request in progress. */
  #asking = new AbortController();
  #isPaused = false;
  /** On the clock of `performance.now()`, in ms. */
  #restsUntil = 0;
  #wake: () => void = () => undefined;

  constructor(parts: RemotePoolParts) {
    this.#parts = parts;
    this.#serving = this.#serve();
  }

  get name(): string {
    return this.#parts.name;
  }

  /** Takes no more tasks; running ones continue. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    this.#asking.abort();
  }

  async resume(): Promise<void> {
    this.#isPaused = false;
    this.#wake();
  }

  /** Takes no more tasks, and resolves when the running ones have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#asking.abort();
    this.#wake();
    await this.#serving;
    await Promise.all(this.#running);
  }

  async #serve(): Promise<void> {
    let waitMs: number = AGAIN_MS.first;
    while (!this.#closing.signal.aborted) {
      if (this.#isPaused || this.#running.size >= this.#parts.slots) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      const restMs = this.#restsUntil - performance.now();
      if (restMs > 0) {
        await pause(restMs, this.#closing.signal);
        continue;
      }
      this.#asking = new AbortController();
      try {
        const task = await this.#parts.next(this.#asking.signal);
        waitMs = AGAIN_MS.first;
        if (task) {
          this.#start(task);
        }
      } catch (error) {
        if (!this.#asking.signal.aborted) {
          this.#parts.onError(error as Error);
          await pause(waitMs * (0.5 + Math.random()), this.#closing.signal);
          waitMs = Math.min(waitMs * 2, AGAIN_MS.most);
        }
      }
    }
  }

  #start(task: RemoteRun): void {
    const running: Promise<void> = this.#run(task).finally(() => {
      this.#running.delete(running);
      this.#wake();
    });
    this.#running.add(running);
  }

  async #run(task: RemoteRun): Promise<void> {
    const { log, run, name: queue } = this.#parts;
    const startedAt = performance.now();
    const fields = { queue, ...taskFields(task) };
    try {
      const { result, code, pausePoolMs } = await run(task, new AbortController().signal);
      const durationMs = Math.round(performance.now() - startedAt);
      log.info({ ...fields, outcome: result, ...(code && { code }), durationMs }, 'run');
      if (pausePoolMs !== undefined) {
        log.warn({ queue, pausePoolMs }, 'the pool is paused');
        this.#restsUntil = Math.max(this.#restsUntil, performance.now() + pausePoolMs);
      }
    } catch (error) {
      log.error({ error, ...fields }, 'a run failed unexpectedly: its lease will expire');
    }
  }
}
