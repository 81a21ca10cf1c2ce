import { invariant } from '../lib/errors.ts';
import { type NanoUsd, nanoUsd, ZERO_USD } from '../lib/money.ts';
import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import { accountOverview } from './account.sql.ts';

/** An account as its holder sees it; amounts are nano-USD as decimal text. */
export interface AccountOverviewRow {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly created_at: Date;
  readonly posted: string;
  readonly held: string;
  readonly debt: string;
  readonly running_calls: number;
  readonly running_tasks: number;
}

/** Amounts in nano-USD as decimal text. */
export type Funds = Pick<AccountOverviewRow, 'posted' | 'held' | 'debt'>;

/** Returns the most that a new call may cost, in nano-USD. An account that owes something may make none, whatever it has. */
export function availableOf({ posted, held, debt }: Funds): NanoUsd {
  return BigInt(debt) > 0n ? ZERO_USD : nanoUsd(BigInt(posted) - BigInt(held));
}

export class AccountReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns an account. Counts only what runs with the key `apiKeyId`; null: all of the account. */
  async get(accountId: string, apiKeyId: string | null): Promise<AccountOverviewRow> {
    const [row] = await readRows<AccountOverviewRow>(this.#cells.of(accountId).sequelize, accountOverview, [
      accountId,
      apiKeyId,
    ]);
    invariant(row, `account ${accountId} is gone`);
    return row;
  }
}
