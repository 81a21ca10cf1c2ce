import type pg from 'pg';
import { dryRunMovements } from '../ledger/dry-run.ts';
import type { Booked, Movement, Movements } from '../ledger/movements.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import type { AccountRow } from './accounts.read-model.ts';
import { accountById, reversalDebt } from './accounts.sql.ts';

/** A booking and its account after it. */
export interface BookedOn extends Booked {
  /** Undefined when there is no such account. */
  readonly row: AccountRow | undefined;
  /** Of a purchase that was taken back: what the balance could not give. */
  readonly debt: NanoUsd;
}

/** Bookings of operators, and what the account is after them. */
export class CorrectionsStore {
  readonly #cells: Cells;
  readonly #movements: Movements;

  constructor(cells: Cells, movements: Movements) {
    this.#cells = cells;
    this.#movements = movements;
  }

  /** Books `movement`; with `isTrial` it is taken back once the account was read. Throws what `book` throws. */
  book(
    { accountId, reference }: Movement,
    isTrial: boolean,
    book: (movements: Movements) => Promise<Booked>,
  ): Promise<BookedOn> {
    const work = async (movements: Movements, rows: pg.Pool | pg.PoolClient): Promise<BookedOn> => {
      const booked = await book(movements);
      const [row] = await run<AccountRow & pg.QueryResultRow>(rows, accountById, [accountId]);
      const [reversal] = await run<{ debt: string }>(rows, reversalDebt, [reference]);
      return { ...booked, row, debt: nanoUsd(reversal?.debt ?? 0n) };
    };
    const { money } = this.#cells.of(accountId);
    return isTrial ? dryRunMovements(money, work) : work(this.#movements, money);
  }
}
