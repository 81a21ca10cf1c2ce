import type { FileContent } from '../lib/file-content.ts';
import { pause } from '../lib/pause.ts';
import type { EngineContext, EngineFailure, EngineRequest, EngineStatus } from './engine.types.ts';
import { failureOf, RUN_LOST } from './engine-failures.ts';

const REFERENCE_PREFIX = 'held:';
/** How long a poll waits for a run to end, in ms. Waiting costs nothing and returns the result as soon as there is one. */
const POLL_WAIT_MS = 30_000;
/** Maximum number of runs held at once, including finished ones that nobody collected. */
const RUNS_MAX = 1_000;

interface HeldRun {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  file: FileContent | undefined;
  failure: EngineFailure | undefined;
  canceled: boolean;
}

/** Presents synchronous calls of this process as runs that can be polled. They end with the process. */
export class PollableRuns {
  readonly #runs = new Map<string, HeldRun>();

  /** Returns whether a reference belongs to a held run. */
  static owns(reference: string): boolean {
    return reference.startsWith(REFERENCE_PREFIX);
  }

  /** Calls `make`, which resolves with the file, once per attempt. Returns the reference. */
  start(
    request: EngineRequest,
    context: EngineContext,
    make: (signal: AbortSignal) => Promise<FileContent>,
  ): string {
    const reference = `${REFERENCE_PREFIX}${request.taskId}:${request.attempt}`;
    if (this.#runs.has(reference)) {
      return reference;
    }
    this.#forgetEnded();
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, context.signal]);
    const run: HeldRun = {
      abort,
      file: undefined,
      failure: undefined,
      canceled: false,
      done: make(signal).then(
        (file) => {
          run.file = file;
        },
        (error: unknown) => {
          run.canceled = signal.aborted;
          run.failure = failureOf(error);
        },
      ),
    };
    this.#runs.set(reference, run);
    return reference;
  }

  /** Waits up to 30 seconds for the run to end. A run of another process is reported as lost. Throws the signal's reason. */
  async poll(reference: string, signal: AbortSignal): Promise<EngineStatus> {
    const run = this.#runs.get(reference);
    if (!run) {
      return { state: 'failed', failure: RUN_LOST };
    }
    await pause(POLL_WAIT_MS, signal, run.done);
    signal.throwIfAborted();
    return this.#statusOf(reference, run);
  }

  /** Forgets the run and returns its file, undefined when there is none. */
  take(reference: string): FileContent | undefined {
    const file = this.#runs.get(reference)?.file;
    this.#runs.delete(reference);
    return file;
  }

  /** Aborts the call of a run. It is unknown whether the upstream stops working on it. */
  async cancel(reference: string): Promise<void> {
    const run = this.#runs.get(reference);
    this.#runs.delete(reference);
    run?.abort.abort();
    await run?.done;
  }

  /** Aborts all calls. */
  async close(): Promise<void> {
    await Promise.all([...this.#runs.keys()].map((reference) => this.cancel(reference)));
  }

  #statusOf(reference: string, run: HeldRun): EngineStatus {
    if (run.file !== undefined) {
      return { state: 'succeeded', progress: 1 };
    }
    if (run.failure === undefined) {
      return { state: 'running' };
    }
    this.#runs.delete(reference);
    return run.canceled ? { state: 'canceled' } : { state: 'failed', failure: run.failure };
  }

  // Attempts that gave up never collect their runs.
  #forgetEnded(): void {
    for (const [reference, run] of this.#runs) {
      if (this.#runs.size < RUNS_MAX) {
        return;
      }
      if (run.file !== undefined || run.failure !== undefined) {
        this.#runs.delete(reference);
      }
    }
  }
}
