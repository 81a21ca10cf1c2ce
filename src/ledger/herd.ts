/** Batches larger than this are a herd: their callers return almost together, so the first one waits for the rest. */
const HERD_ITEMS = 4;
/** The fraction of a herd that counts as all of it. */
const HERD_PART = 0.9;
/** Maximum time the first of a herd waits for the rest, in ms. */
const GATHER_MS_MAX = 6;
/** Items worth a statement while calls wait for their turn to begin. */
const CROWD_ITEMS = 16;
/** Maximum time the first of them waits for the rest, in ms: little beside what these calls have already waited. */
const CROWD_MS_MAX = 20;

/**
 * The items of a lane's last batch. Their callers soon return, each with its next item, and a statement costs as much as some fifteen of
 * its items (docs/decisions/0001-group-commit.md). Without a wait, 32 concurrent calls arrive in small groups, each with its own
 * statement, and all of them wait longer.
 */
export class Herd {
  #items = 0;
  #commitMs = 0;
  #leftAt = 0;
  /** Number of waiting items that ends the current wait. */
  #awaited = 0;
  /** Set during a wait. */
  #onGathered: (() => void) | undefined;

  /** Records that a batch of `items` was answered at `at` (as of `performance.now()`) after a commit that took `commitMs`. */
  left(items: number, commitMs: number, at: number): void {
    this.#items = items;
    this.#commitMs = commitMs;
    this.#leftAt = at;
  }

  /** Returns whether more items are expected than are waiting. The herd is expected for as long after its batch as the commit took. */
  isAwaited(waiting: number): boolean {
    return (
      this.#items > HERD_ITEMS &&
      waiting < this.#items * HERD_PART &&
      performance.now() - this.#leftAt <= this.#commitMs
    );
  }

  /** Resolves when the herd has arrived, at the latest after the time its commit took. */
  gather(): Promise<void> {
    return this.#wait(this.#items * HERD_PART, Math.min(GATHER_MS_MAX, this.#commitMs));
  }

  /**
   * Resolves when enough items have arrived to be worth a statement, at once or after a short while. For a process that has more work than
   * it can do: its calls begin one at a time, and each would get its own statement.
   */
  gatherCrowd(waiting: number): Promise<void> {
    return waiting >= CROWD_ITEMS ? Promise.resolve() : this.#wait(CROWD_ITEMS, CROWD_MS_MAX);
  }

  /** Records how many items are waiting now. */
  arrived(waiting: number): void {
    if (this.#onGathered && waiting >= this.#awaited) {
      this.#onGathered();
    }
  }

  #wait(items: number, milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const gathered = () => {
        clearTimeout(patience);
        this.#onGathered = undefined;
        resolve();
      };
      const patience = setTimeout(gathered, milliseconds);
      this.#awaited = items;
      this.#onGathered = gathered;
    });
  }
}
