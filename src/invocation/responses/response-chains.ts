/** The last response of a conversation with what came before it, so that the next request needs only what is new. */
export interface ResponseChain {
  /** Id of the response. */
  readonly id: string;
  /** Items of its input and output, each as JSON. */
  readonly items: readonly string[];
}

interface Kept {
  readonly accountId: string;
  readonly chain: ResponseChain;
  readonly length: number;
}

/** Maximum length of all items, in UTF-16 units: a hundred long conversations of agents. */
const LENGTH_MAX = 32 * 1024 * 1024;

/**
 * Keeps the last response of each holder (a connection, or a lane of it) in memory, and nowhere else. When there are too many, the account with the most loses its
 * oldest one; its client then sends the whole conversation again.
 */
export class ResponseChains {
  /** By holder, oldest first. */
  readonly #kept = new Map<object, Kept>();
  readonly #lengthMax: number;
  #length = 0;

  constructor(lengthMax = LENGTH_MAX) {
    this.#lengthMax = lengthMax;
  }

  /** Returns the chain of a holder if its last response has this id. */
  find(holder: object, id: string): ResponseChain | undefined {
    const chain = this.#kept.get(holder)?.chain;
    return chain?.id === id ? chain : undefined;
  }

  /** Replaces the chain of a holder. */
  keep(holder: object, accountId: string, chain: ResponseChain): void {
    this.drop(holder);
    const length = chain.items.reduce((sum, item) => sum + item.length, 0);
    this.#kept.set(holder, { accountId, chain, length });
    this.#length += length;
    while (this.#length > this.#lengthMax) {
      this.drop(this.#oldestOfLargest());
    }
  }

  drop(holder: object): void {
    this.#length -= this.#kept.get(holder)?.length ?? 0;
    this.#kept.delete(holder);
  }

  /** Returns the oldest holder of the account whose chains are the longest in total. There must be one. */
  #oldestOfLargest(): object {
    const lengths = new Map<string, number>();
    for (const { accountId, length } of this.#kept.values()) {
      lengths.set(accountId, (lengths.get(accountId) ?? 0) + length);
    }
    const largest = Math.max(...lengths.values());
    const [oldest] = [...this.#kept].find(([, { accountId }]) => lengths.get(accountId) === largest) ?? [];
    return oldest as object;
  }
}
