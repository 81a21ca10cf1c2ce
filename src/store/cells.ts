import type { Database } from './database.ts';

/**
 * Where rows are. An account and all it owns are in one cell, whole; the tables of the installation (HOME_TABLES) are in the home
 * database. Whoever reads or writes rows asks here for the database that has them, and nobody else knows how many there are.
 */
export interface Cells {
  readonly home: Database;
  /** Of the account, by its id. */
  of(accountId: string): Database;
  /**
   * Of whoever owns that, where only its id is known: a task in a job, an id in an address. Ask {@link of} wherever the account is known,
   * too: an id from before ids carried their account's bucket ends in random bits, and with several cells only its row in a map,
   * written when its account is moved, will tell where it is.
   */
  ofOwned(id: string): Database;
  /** Every cell: for what is asked of one after the other, or of all at once, and needs no order over them. */
  all(): readonly Database[];
  /**
   * The one cell, for what is not made for several yet: the lanes of the ledger, relays, LISTEN, lists in one order over all accounts,
   * proofs, sums for operators and gauges. Whoever is made for several asks {@link all} instead.
   */
  readonly sole: Database;
}

/** All rows in one database, which is home, too. */
export function oneCell(database: Database): Cells {
  const all = [database];
  const sole = () => database;
  return { home: database, of: sole, ofOwned: sole, all: () => all, sole: database };
}

/** Those of the items that are in one cell. */
export interface CellShare<Item> {
  readonly cell: Database;
  readonly items: readonly Item[];
}

/** Cuts a batch by cell, each share in the order of the batch. `cellOf`: where an item is. */
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

/** Asks every cell for rows at once; they come in the order of the cells. */
export async function inAll<Row>(
  cells: Cells,
  ask: (cell: Database) => Promise<readonly Row[]>,
): Promise<Row[]> {
  return (await Promise.all(cells.all().map(ask))).flat();
}
