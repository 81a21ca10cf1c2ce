import { invariant } from '../lib/errors.ts';
import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import { creditsOfAccount } from './credits.sql.ts';

/** An account's balance; amounts are nano-USD as decimal text. */
export interface CreditsRow {
  readonly posted: string;
  readonly used: string;
  readonly held: string;
  readonly debt: string;
  readonly changed_at: Date;
}

export class CreditsReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async get(accountId: string): Promise<CreditsRow> {
    const [row] = await readRows<CreditsRow>(this.#cells.of(accountId).sequelize, creditsOfAccount, [
      accountId,
    ]);
    invariant(row, `account ${accountId} has no balance`);
    return row;
  }
}
