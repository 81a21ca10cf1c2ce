/** Rows are identified by their id, by their hash in the case of keys, or by the start time of a price. */
export type Row =
  | { readonly id: string }
  | { readonly hash: string }
  | { readonly model: string; readonly starts_at: string };

interface Page<R> {
  readonly rows: readonly R[];
  readonly next: string | undefined;
}

export interface Reading {
  /** The list refreshes itself continuously, not only after an action of the user. */
  readonly isLive: boolean;
  /** The user has scrolled down. */
  readonly isRead: boolean;
}

/**
 * Returns what a list shows after its newest page was reloaded: the new page, unless the user is reading further down. Then rows
 * stay in place, changed rows are updated, deleted rows are removed, and new rows wait. After the user's own action no rows wait.
 */
export function renewed<R extends Row, P extends Page<R>>(
  before: P,
  newest: P,
  { isLive, isRead }: Reading,
): P {
  const hasOlder = before.rows.length > newest.rows.length && newest.next !== undefined;
  if (!hasOlder && !(isLive && isRead)) {
    return newest;
  }
  const fresh = newRows(newest.rows, before.rows);
  if (fresh.length === newest.rows.length) {
    // the number of rows between the two is unknown
    return isLive ? before : newest;
  }
  const current = new Map(newest.rows.map((row) => [nameOf(row), row]));
  const last = newest.rows.findLast((row) => !fresh.includes(row));
  const covered =
    newest.next === undefined
      ? before.rows.length
      : before.rows.findIndex((row) => last !== undefined && nameOf(row) === nameOf(last)) + 1;
  const kept = before.rows.flatMap(
    (row, index) => current.get(nameOf(row)) ?? (index < covered ? [] : [row]),
  );
  return { ...before, rows: isLive ? kept : [...fresh, ...kept] };
}

/** Returns the rows of a page that are not shown yet. */
export function newRows<R extends Row>(page: readonly R[], shown: readonly R[]): R[] {
  const names = new Set(shown.map(nameOf));
  return page.filter((row) => !names.has(nameOf(row)));
}

function nameOf(row: Row): string {
  if ('id' in row) {
    return row.id;
  }
  return 'hash' in row ? row.hash : `${row.model} ${row.starts_at}`;
}
