/** A per-account concurrency limit. An account at its limit does not affect others. */
export class AccountConcurrency {
  readonly #perAccount: number;
  readonly #taken = new Map<string, number>();

  constructor(perAccount: number) {
    this.#perAccount = perAccount;
  }

  /** Takes a place and returns the function that gives it back (call it once). Returns undefined when the account is at its limit. */
  take(accountId: string): (() => void) | undefined {
    const taken = this.#taken.get(accountId) ?? 0;
    if (taken >= this.#perAccount) {
      return undefined;
    }
    this.#taken.set(accountId, taken + 1);
    return () => {
      const left = (this.#taken.get(accountId) ?? 1) - 1;
      if (left > 0) {
        this.#taken.set(accountId, left);
      } else {
        this.#taken.delete(accountId);
      }
    };
  }
}
