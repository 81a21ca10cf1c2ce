/** Rows are told apart by their id, by the hash that a key has instead, or by when a price began. */
export type Row =
  | { readonly id: string }
  | { readonly hash: string }
  | { readonly model: string; readonly starts_at: string };

interface Page<R> {
  readonly rows: readonly R[];
  readonly next: string | undefined;
}

export interface Reading {
  /** It is read again and again by itself, not only after an act of whoever looks at it. */
  readonly isLive: boolean;
  /** Somebody has scrolled down in it. */
  readonly isRead: boolean;
}

/**
 * What a list shows after its newest page was read again. That page, unless somebody reads further down: then rows stay where they are, those
 * that changed are renewed, those that are gone are left out, and new ones wait. After an act of their own nothing waits.
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
    // nothing says how many lie between the two
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

/** The rows of a page that are not among those that are shown. */
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
