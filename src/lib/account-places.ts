/** A bound on how much goes on at once for each account. An account that is at its bound takes nothing from others. */
export class AccountPlaces {
  readonly #perAccount: number;
  readonly #taken = new Map<string, number>();

  constructor(perAccount: number) {
    this.#perAccount = perAccount;
  }

  /** Takes a place; the returned function gives it back, once. Undefined when the account has as many as it may. */
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
