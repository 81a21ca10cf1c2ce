interface Line<T> {
  readonly weight: number;
  readonly items: { readonly cost: number; readonly value: T }[];
  /** Of all items. */
  cost: number;
  /** What the line may still take in its turn, in units of cost. */
  credit: number;
  hasTurn: boolean;
}

/**
 * Waiting work, in turns: each account in line may take as much cost a round as it weighs, however much of it waits (deficit round
 * robin, Shreedhar and Varghese 1995). Costs and weights are above 0; a weight of 1 is an ordinary account's.
 */
export class FairQueue<T> {
  /** In the order of their turns. */
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

  /** The next one; undefined when nobody waits. */
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

  /** Takes out, of each account, the first ones in line for as long as they match; their turns are lost, not used. */
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

  /** Cost of all that would be served before a newcomer of that account. */
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
