/** Batches larger than this are a herd: their callers return almost together, so the first one waits for the rest. */
const HERD_ITEMS = 4;
/** The fraction of a herd that counts as all of it. */
const HERD_PART = 0.9;
/** Maximum time the first of a herd waits for the rest, in ms. */
const GATHER_MS_MAX = 6;

/**
 * The items of a lane's last batch. Their callers soon return, each with its next item, and a statement costs as much as some fifteen of
 * its items (docs/decisions/0001-group-commit.md). Without a wait, 32 concurrent calls arrive in small groups, each with its own
 * statement, and all of them wait longer.
 */
export class Herd {
  #items = 0;
  #commitMs = 0;
  #leftAt = 0;
  /** Set while the herd gathers. */
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
      this.#items > HERD_ITEMS && !this.#isHere(waiting) && performance.now() - this.#leftAt <= this.#commitMs
    );
  }

  /** Resolves when the herd has arrived, at the latest after the time its commit took. */
  gather(): Promise<void> {
    return new Promise((resolve) => {
      const gathered = () => {
        clearTimeout(patience);
        this.#onGathered = undefined;
        resolve();
      };
      const patience = setTimeout(gathered, Math.min(GATHER_MS_MAX, this.#commitMs));
      this.#onGathered = gathered;
    });
  }

  /** Records how many items are waiting now. */
  arrived(waiting: number): void {
    if (this.#onGathered && this.#isHere(waiting)) {
      this.#onGathered();
    }
  }

  #isHere(waiting: number): boolean {
    return waiting >= this.#items * HERD_PART;
  }
}
