/** Where progress is shown; only if it is a terminal. */
export interface ProgressTerminal {
  readonly isTTY: boolean;
  write(text: string): unknown;
}

const BAR_CELLS = 24;
const TURN_MS = 120;
const WHEEL = ['|', '/', '-', '\\'];
const CLEAR_LINE = '\r\u001b[2K';

/** Shows on standard error that long work is going on, and how far it is if that is known. Silent without a terminal. */
export class Progress {
  readonly #terminal: ProgressTerminal;

  constructor(terminal: ProgressTerminal) {
    this.#terminal = terminal;
  }

  /** Runs the work under a spinner that shows the elapsed seconds. `text` may change meanwhile. */
  async wheel<T>(text: () => string, work: () => Promise<T>): Promise<T> {
    if (!this.#terminal.isTTY) {
      return await work();
    }
    const startedAt = performance.now();
    let turn = 0;
    const timer = setInterval(() => {
      const seconds = Math.floor((performance.now() - startedAt) / 1_000);
      turn += 1;
      this.#terminal.write(`${CLEAR_LINE}${WHEEL[turn % WHEEL.length]} ${text()} ${seconds} s`);
    }, TURN_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      this.#terminal.write(CLEAR_LINE);
    }
  }

  /** Runs the work on each item in turn under a progress bar. */
  async bar<Item, T>(noun: string, items: readonly Item[], work: (item: Item) => Promise<T>): Promise<T[]> {
    const results: T[] = [];
    for (const [index, item] of items.entries()) {
      this.#draw(noun, index, items.length);
      results.push(await work(item));
    }
    if (this.#terminal.isTTY) {
      this.#terminal.write(CLEAR_LINE);
    }
    return results;
  }

  #draw(noun: string, done: number, of: number): void {
    if (this.#terminal.isTTY) {
      const full = Math.round((done / of) * BAR_CELLS);
      const bar = '█'.repeat(full) + '░'.repeat(BAR_CELLS - full);
      this.#terminal.write(`${CLEAR_LINE}${bar} ${done}/${of} ${noun}`);
    }
  }
}
