/** This many failures in a row point to a common cause, not to the items; carrying on would take forever. */
const FAILURES_IN_A_ROW_MAX = 50;

export interface IsolatedOptions<Item> {
  /** Called for each item that failed. */
  readonly onFailure: (item: Item, error: unknown) => void;
  /** Number of items processed concurrently; 1 by default. */
  readonly together?: number;
  /** Starts no further item once it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `work` for each item so that a failing item does not stop the others. Returns the items that succeeded. Rejects with the last error
 * when 50 fail in a row.
 */
export async function forEachIsolated<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  { onFailure, together = 1, signal }: IsolatedOptions<Item>,
): Promise<readonly Item[]> {
  const waiting = items.values();
  const done: Item[] = [];
  let failuresInARow = 0;
  let lastError: unknown;
  const take = async () => {
    for (const item of waiting) {
      if (signal?.aborted || failuresInARow >= FAILURES_IN_A_ROW_MAX) {
        return;
      }
      try {
        await work(item);
        failuresInARow = 0;
        done.push(item);
      } catch (error) {
        lastError = error;
        failuresInARow += 1;
        onFailure(item, error);
      }
    }
  };
  await Promise.all(Array.from({ length: together }, take));
  if (failuresInARow >= FAILURES_IN_A_ROW_MAX) {
    throw lastError;
  }
  return done;
}
