import type { Database } from './database.ts';

/**
 * Where rows are stored. An account and everything it owns are in one cell; the tables of the installation (HOME_TABLES) are in the home
 * database. All code that reads or writes rows asks here which database has them, and nothing else knows how many there are.
 */
export interface Cells {
  readonly home: Database;
  /** Returns the cell of an account. */
  of(accountId: string): Database;
  /**
   * Returns the cell of an object's owner when only the object's id is known: a task in a job, an id in a URL. Use {@link of} wherever the
   * account is known as well: an id from before ids carried their account's bucket ends in random bits. With several cells, only its row in
   * a map, written when its account is moved, will say where it is.
   */
  ofOwned(id: string): Database;
  /** Returns every cell, for queries to each in turn or to all at once that need no order across them. */
  all(): readonly Database[];
  /**
   * The only cell, for code that does not support several yet: the lanes of the ledger, relays, LISTEN, lists ordered across all accounts,
   * proofs, sums for operators and gauges. Code that supports several uses {@link all} instead.
   */
  readonly sole: Database;
}

/** Stores all rows in one database, which is also home. */
export function oneCell(database: Database): Cells {
  const all = [database];
  const sole = () => database;
  return { home: database, of: sole, ofOwned: sole, all: () => all, sole: database };
}

/** The items of a batch that belong to one cell. */
export interface CellShare<Item> {
  readonly cell: Database;
  readonly items: readonly Item[];
}

/** Splits a batch by cell, keeping the order of the batch. `cellOf` returns the cell of an item. */
export function byCell<Item>(
  items: readonly Item[],
  cellOf: (item: Item) => Database,
): readonly CellShare<Item>[] {
  const shares = new Map<Database, Item[]>();
  for (const item of items) {
    const cell = cellOf(item);
    const share = shares.get(cell);
    if (share) {
      share.push(item);
    } else {
      shares.set(cell, [item]);
    }
  }
  return [...shares].map(([cell, share]) => ({ cell, items: share }));
}

/** Queries all cells at once. Returns the rows in the order of the cells. */
export async function inAll<Row>(
  cells: Cells,
  ask: (cell: Database) => Promise<readonly Row[]>,
): Promise<Row[]> {
  return (await Promise.all(cells.all().map(ask))).flat();
}
