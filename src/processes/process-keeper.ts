/** One process as its keeper sees it. */
export interface KeptProcess {
  end(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export interface KeeperEvents {
  /** Every process has said for the first time that it serves. */
  readonly onReady: (address: string) => void;
  /** One ended unasked and is started again after `pauseMs`. */
  readonly onCrash: (crash: {
    readonly slot: number;
    readonly how: string;
    readonly pauseMs: number;
  }) => void;
  /** One ended before all had been ready, or none is left. `code`: what to exit with, not 0. */
  readonly onFailure: (failure: {
    readonly slot: number;
    readonly how: string;
    readonly code: number;
  }) => void;
}

/** Starts the process of a slot (from 1) and tells how it fares. */
export type StartProcess = (
  slot: number,
  events: { onReady(address: string): void; onEnd(how: string, code: number): void },
) => KeptProcess;

const PAUSE_FIRST_MS = 500;
const PAUSE_MAX_MS = 30_000;
/** A process that was ready this long has worked: the next pause is short again. */
const WORKED_MS = 10_000;
/** A process that does not get ready within this is ended, in ms. */
const READY_WITHIN_MS = 60_000;

interface Slot {
  readonly number: number;
  process: KeptProcess | undefined;
  /** Of the monotonic clock; undefined: it does not serve yet. */
  readyAtMs: number | undefined;
  /** Ends in a row. */
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Keeps several processes of one kind running: one that ends unasked is started again after growing pauses, as long as another one is
 * there. Without any, or before all have been ready once, the end of one is the end of all: whoever started them knows what to do then.
 */
export class ProcessKeeper {
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
   * Starts none any more and ends those that do not serve yet. Resolves when all have ended; whoever calls this has told those that serve
   * to. Rejects when one of them ended badly.
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

  /** Ends at once what still runs although it was to leave. */
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
