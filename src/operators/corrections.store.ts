import type pg from 'pg';
import { dryRunMovements } from '../ledger/dry-run.ts';
import type { Booked, Movement, Movements } from '../ledger/movements.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import type { AccountRow } from './accounts.read-model.ts';
import { accountById, reversalDebt } from './accounts.sql.ts';

/** A booking, and its account after it. */
export interface BookedOn extends Booked {
  /** Undefined when the account does not exist. */
  readonly row: AccountRow | undefined;
  /** For a purchase that was taken back: the part that the balance could not cover. */
  readonly debt: NanoUsd;
}

/** Books corrections of operators and reads the account after them. */
export class CorrectionsStore {
  readonly #cells: Cells;
  readonly #movements: Movements;

  constructor(cells: Cells, movements: Movements) {
    this.#cells = cells;
    this.#movements = movements;
  }

  /** Books `movement`; with `isDryRun` the booking is rolled back after the account has been read. Rethrows errors of `book`. */
  book(
    { accountId, reference }: Movement,
    isDryRun: boolean,
    book: (movements: Movements) => Promise<Booked>,
  ): Promise<BookedOn> {
    const work = async (movements: Movements, rows: pg.Pool | pg.PoolClient): Promise<BookedOn> => {
      const booked = await book(movements);
      const [row] = await run<AccountRow & pg.QueryResultRow>(rows, accountById, [accountId]);
      const [reversal] = await run<{ debt: string }>(rows, reversalDebt, [reference]);
      return { ...booked, row, debt: nanoUsd(reversal?.debt ?? 0n) };
    };
    const { money } = this.#cells.of(accountId);
    return isDryRun ? dryRunMovements(money, work) : work(this.#movements, money);
  }
}
