/** So many failures without a success between them are not those of the items: going on would take for ever. */
const FAILURES_IN_A_ROW_MAX = 50;

export interface ApartOptions<Item> {
  /** Called with each that failed. */
  readonly onFailure: (item: Item, error: unknown) => void;
  /** How many are worked on at once; 1 unless said otherwise. */
  readonly together?: number;
  /** Begins no further item once it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Does the work of each item, so that one that fails holds up none of the others. Returns those that succeeded. Rejects with the last
 * error when 50 fail in a row.
 */
export async function eachApart<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  { onFailure, together = 1, signal }: ApartOptions<Item>,
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
