import type { Sequelize } from 'sequelize';
import { invariant } from '../lib/invariant.ts';
import { readRows } from '../store/report.ts';
import { creditsOfAccount } from './credits.sql.ts';

/** An account's balance; amounts are nano-USD as decimal text. */
export interface CreditsRow {
  readonly posted: string;
  readonly used: string;
  readonly held: string;
  readonly debt: string;
  readonly last_at: Date;
}

export class CreditsReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  async get(accountId: string): Promise<CreditsRow> {
    const [row] = await readRows<CreditsRow>(this.#sequelize, creditsOfAccount, [accountId]);
    invariant(row, `account ${accountId} has no balance`);
    return row;
  }
}
