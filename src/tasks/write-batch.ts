import { sqlState } from '../ledger/failure-kind.ts';
import { MinInterval } from '../lib/min-interval.ts';

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

const ITEMS_MAX = 100;

/**
 * Batches writes: one statement is in flight, and the items that arrive meanwhile, or within `paceMs` of its start, form the next.
 * Many small writes of one process cost one round trip and one commit. Without load an item is sent at once, alone.
 */
export class WriteBatch<Item, Result> {
  readonly #send: (items: readonly Item[]) => Promise<Result[]>;
  readonly #pace: MinInterval;
  #queue: Waiting<Item, Result>[] = [];
  #running = false;

  /** `send` answers in the order of the items, and writes all of them or none. */
  constructor(send: (items: readonly Item[]) => Promise<Result[]>, paceMs: number) {
    this.#send = send;
    this.#pace = new MinInterval(paceMs);
  }

  /** Resolves after the item's statement has committed. Throws what Postgres throws about it. */
  run(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      if (!this.#running) {
        void this.#drain();
      }
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#queue.length > 0) {
      const begin = this.#pace.begin();
      if (begin !== undefined) {
        await begin;
      }
      const batch = this.#queue.slice(0, ITEMS_MAX);
      this.#queue = this.#queue.slice(batch.length);
      await this.#deliver(batch);
    }
    this.#running = false;
  }

  async #deliver(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#send(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => {
        resolve(results[index] as Result);
      });
    } catch (error) {
      if (batch.length > 1 && isRolledBack(error)) {
        // One item must not fail the others: each is sent on its own.
        await Promise.all(batch.map((waiting) => this.#deliver([waiting])));
        return;
      }
      for (const { reject } of batch) {
        reject(error);
      }
    }
  }
}

/**
 * Returns whether Postgres itself rejected the statement, so that nothing was written. After a lost answer nobody knows, so nothing
 * is sent again.
 */
function isRolledBack(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && !state.startsWith('08') && !state.startsWith('57');
}
