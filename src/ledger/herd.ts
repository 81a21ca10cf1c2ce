/** A batch of more items than this is a herd: those it answers come back one after the other, and the first must not go off alone. */
const HERD_ITEMS = 4;
/** The part of a herd that is as good as all of it. */
const HERD_PART = 0.9;
/** How long the first of a herd waits for the others at most, in ms. */
const GATHER_MS_MAX = 6;

/**
 * The items that a lane's last batch answered. Their callers come back soon, each with its next item, and a statement costs as much as
 * some fifteen of its items (docs/decisions/0001-group-commit.md): without a wait 32 calls at a time come in small groups, each with a
 * statement of its own, and all of them wait longer.
 */
export class Herd {
  #items = 0;
  #commitMs = 0;
  #leftAt = 0;
  /** Set while the herd gathers. */
  #onGathered: (() => void) | undefined;

  /** A batch of so many items was answered at `at` (by `performance.now()`); its commit took `commitMs`. */
  left(items: number, commitMs: number, at: number): void {
    this.#items = items;
    this.#commitMs = commitMs;
    this.#leftAt = at;
  }

  /** Whether more is to be expected than the items that wait, as long after the last batch as its commit took. */
  isAwaited(waiting: number): boolean {
    return (
      this.#items > HERD_ITEMS && !this.#isHere(waiting) && performance.now() - this.#leftAt <= this.#commitMs
    );
  }

  /** Resolves when the herd is here, or after as long as its commit took. */
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

  /** So many items wait now. */
  arrived(waiting: number): void {
    if (this.#onGathered && this.#isHere(waiting)) {
      this.#onGathered();
    }
  }

  #isHere(waiting: number): boolean {
    return waiting >= this.#items * HERD_PART;
  }
}
