/**
 * How many answers of each account are read on after their clients left. An account that is at its bound is not served worse: its
 * next abandoned answer is given up and charged its cap.
 */
export class BackgroundReads {
  readonly #perAccount: number;
  readonly #running = new Map<string, number>();

  constructor(perAccount: number) {
    this.#perAccount = perAccount;
  }

  /** A place for one more; the returned function gives it back. Undefined when the account has as many as it may. */
  begin(accountId: string): (() => void) | undefined {
    const running = this.#running.get(accountId) ?? 0;
    if (running >= this.#perAccount) {
      return undefined;
    }
    this.#running.set(accountId, running + 1);
    return () => {
      const left = (this.#running.get(accountId) ?? 1) - 1;
      if (left > 0) {
        this.#running.set(accountId, left);
      } else {
        this.#running.delete(accountId);
      }
    };
  }
}
