/** The queued work of one account. */
interface Line<T> {
  readonly weight: number;
  readonly items: { readonly cost: number; readonly value: T }[];
  /** Total cost of all items. */
  cost: number;
  /** Cost the account may still use up in its turn. */
  credit: number;
  hasTurn: boolean;
}

/**
 * A queue in which accounts take turns: per round an account gets as much cost as its weight, however much it has queued (deficit round
 * robin, Shreedhar and Varghese 1995). Costs and weights are above 0; an ordinary account has weight 1.
 */
export class FairQueue<T> {
  /** Lines by account, in the order of their turns. */
  readonly #lines = new Map<string, Line<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(account: string, weight: number, cost: number, value: T): void {
    let line = this.#lines.get(account);
    if (!line) {
      line = { weight, items: [], cost: 0, credit: 0, hasTurn: false };
      this.#lines.set(account, line);
    }
    line.items.push({ cost, value });
    line.cost += cost;
    this.#size += 1;
  }

  /** Removes and returns the next value; undefined when the queue is empty. */
  shift(): T | undefined {
    for (;;) {
      const [first] = this.#lines;
      if (!first) {
        return undefined;
      }
      const [account, line] = first;
      if (!line.hasTurn) {
        line.hasTurn = true;
        line.credit += line.weight;
      }
      const [item] = line.items;
      if (item && item.cost <= line.credit) {
        line.items.shift();
        line.cost -= item.cost;
        line.credit -= item.cost;
        this.#size -= 1;
        if (line.items.length === 0) {
          this.#lines.delete(account);
        }
        return item.value;
      }
      line.hasTurn = false;
      this.#lines.delete(account);
      this.#lines.set(account, line);
    }
  }

  /** Removes and returns the matching head of each account's line. Uses none of the account's credit. */
  takeWhile(matches: (value: T) => boolean): T[] {
    const taken: T[] = [];
    for (const [account, line] of this.#lines) {
      const firstKept = line.items.findIndex(({ value }) => !matches(value));
      const matching = line.items.splice(0, firstKept === -1 ? line.items.length : firstKept);
      for (const { cost, value } of matching) {
        line.cost -= cost;
        this.#size -= 1;
        taken.push(value);
      }
      if (line.items.length === 0) {
        this.#lines.delete(account);
      }
    }
    return taken;
  }

  /** Returns an upper bound on the cost that would be served before a new item of that account. */
  costBefore(account: string, weight: number, cost: number): number {
    const own = this.#lines.get(account)?.cost ?? 0;
    const rounds = (own + cost) / weight;
    let before = own;
    for (const [name, line] of this.#lines) {
      before += name === account ? 0 : Math.min(line.cost, rounds * line.weight);
    }
    return before;
  }
}
