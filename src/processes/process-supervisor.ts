/** The keeper's handle on a process. */
export interface KeptProcess {
  end(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export interface KeeperEvents {
  /** Called once every process has reported that it is serving. */
  readonly onReady: (address: string) => void;
  /** Called when a process ended unexpectedly; it is restarted after `pauseMs`. */
  readonly onCrash: (crash: {
    readonly slot: number;
    readonly how: string;
    readonly pauseMs: number;
  }) => void;
  /** Called when a process ended before all had been ready, or when none is left. `code`: the exit code to use, not 0. */
  readonly onFailure: (failure: {
    readonly slot: number;
    readonly how: string;
    readonly code: number;
  }) => void;
}

/** Starts the process of a slot (from 1) and reports its events. */
export type StartProcess = (
  slot: number,
  events: { onReady(address: string): void; onEnd(how: string, code: number): void },
) => KeptProcess;

const PAUSE_FIRST_MS = 500;
const PAUSE_MAX_MS = 30_000;
/** After serving for this long, in ms, a process counts as healthy: the next pause is short again. */
const WORKED_MS = 10_000;
/** A process that is not ready within this time, in ms, is killed. */
const READY_WITHIN_MS = 60_000;

interface Slot {
  readonly number: number;
  process: KeptProcess | undefined;
  /** When it became ready, on the monotonic clock; undefined while it is not serving. */
  readyAtMs: number | undefined;
  /** Number of consecutive unexpected ends. */
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Keeps several processes of one kind running: one that ends unexpectedly is restarted after growing pauses, as long as another one is
 * left. If none is left, or before all have been ready once, it reports a failure instead: whatever started the command decides what to do.
 */
export class ProcessSupervisor {
  readonly #start: StartProcess;
  readonly #events: KeeperEvents;
  readonly #slots: readonly Slot[];
  #phase: 'starting' | 'running' | 'leaving' = 'starting';
  #badEnd: string | undefined;
  #allGone: () => void = () => undefined;

  constructor(count: number, start: StartProcess, events: KeeperEvents) {
    this.#start = start;
    this.#events = events;
    this.#slots = Array.from({ length: count }, (_, index) => ({
      ...{ number: index + 1, process: undefined, readyAtMs: undefined, failures: 0, timer: undefined },
    }));
  }

  startAll(): void {
    for (const slot of this.#slots) {
      this.#launch(slot);
    }
  }

  /**
   * Stops starting processes and ends those that are not serving yet. Resolves when all have ended; the caller must have asked the serving
   * ones to stop. Rejects if one of them ended with an error.
   */
  async leave(): Promise<void> {
    this.#phase = 'leaving';
    for (const { process, readyAtMs, timer } of this.#slots) {
      clearTimeout(timer);
      if (readyAtMs === undefined) {
        process?.end('SIGTERM');
      }
    }
    await new Promise<void>((resolve) => {
      this.#allGone = resolve;
      this.#lookForEnd();
    });
    if (this.#badEnd !== undefined) {
      throw new Error(this.#badEnd);
    }
  }

  /** Kills processes that are still running while leaving. */
  endRest(): void {
    if (this.#phase === 'leaving') {
      for (const { process } of this.#slots) {
        process?.end('SIGKILL');
      }
    }
  }

  #launch(slot: Slot): void {
    const process = this.#start(slot.number, {
      onReady: (address) => this.#becameReady(slot, address),
      onEnd: (how, code) => this.#ended(slot, how, code),
    });
    slot.process = process;
    slot.timer = setTimeout(() => process.end('SIGKILL'), READY_WITHIN_MS);
  }

  #becameReady(slot: Slot, address: string): void {
    clearTimeout(slot.timer);
    slot.readyAtMs = performance.now();
    if (this.#phase === 'starting' && this.#slots.every(({ readyAtMs }) => readyAtMs !== undefined)) {
      this.#phase = 'running';
      this.#events.onReady(address);
    }
  }

  #ended(slot: Slot, how: string, code: number): void {
    clearTimeout(slot.timer);
    const { number, readyAtMs } = slot;
    slot.process = undefined;
    slot.readyAtMs = undefined;
    if (this.#phase === 'leaving') {
      this.#badEnd ??= readyAtMs !== undefined && code !== 0 ? `API process ${number} ${how}` : undefined;
      this.#lookForEnd();
    } else if (this.#phase === 'starting' || this.#isEmpty) {
      this.#phase = 'leaving';
      this.#events.onFailure({ slot: number, how, code: code || 1 });
    } else {
      const worked = readyAtMs !== undefined && performance.now() - readyAtMs >= WORKED_MS;
      slot.failures = worked ? 1 : slot.failures + 1;
      const pauseMs = Math.min(PAUSE_FIRST_MS * 2 ** (slot.failures - 1), PAUSE_MAX_MS);
      this.#events.onCrash({ slot: number, how, pauseMs });
      slot.timer = setTimeout(() => this.#launch(slot), pauseMs);
    }
  }

  get #isEmpty(): boolean {
    return this.#slots.every(({ process }) => process === undefined);
  }

  #lookForEnd(): void {
    if (this.#isEmpty) {
      this.#allGone();
    }
  }
}
