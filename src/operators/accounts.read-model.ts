import type { Party } from '../billing/documents.types.ts';
import type { Cells } from '../store/cells.ts';
import type { StoredRateLimits } from '../store/models/api-key.model.ts';
import { readRows } from '../store/report.ts';
import {
  accountById,
  accountByName,
  accountsByBalance,
  accountsByLastUse,
  accountsByUsage,
  accountsPage,
  anyAccount,
  purchaseProvider,
} from './accounts.sql.ts';

/** An account with its balance; amounts are nano-USD as decimal text. */
export interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly allowed_models: string[] | null;
  readonly max_keys: number;
  /** Name and address of the customer on documents. */
  readonly billing: Party | null;
  readonly rate_limits: StoredRateLimits | null;
  readonly created_at: Date;
  /** When it was erased, which closes it for good. */
  readonly erased_at: Date | null;
  readonly posted: string;
  readonly used: string;
  readonly held: string;
  readonly debt: string;
  /** Charged in the last 24 hours, and in the last 30 UTC days including today. */
  readonly usage_24h: string;
  readonly usage_30d: string;
  /** When one of its keys was last used; null if never. */
  readonly last_used_at: Date | null;
}

/** Sort orders other than age, each in descending order. */
const ORDERS = {
  remaining_credits: accountsByBalance,
  usage_30d: accountsByUsage,
  last_used_at: accountsByLastUse,
};
export type AccountRank = keyof typeof ORDERS;
export type RankedAccountRow = AccountRow & { readonly rank: string };

export interface AccountFilter {
  /** Only accounts with a lower id. */
  readonly beforeId: string | null;
  /** Substring of the name. */
  readonly name: string | null;
  readonly suspended: boolean | null;
  readonly limit: number;
}

export class AccountsReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(id: string): Promise<AccountRow | undefined> {
    return (await readRows<AccountRow>(this.#cells.of(id).sequelize, accountById, [id]))[0];
  }

  /** Lists accounts, newest first. */
  list({ beforeId, name, suspended, limit }: AccountFilter): Promise<AccountRow[]> {
    return readRows<AccountRow>(this.#cells.sole.sequelize, accountsPage, [name, suspended, limit, beforeId]);
  }

  /** Lists accounts in descending order, starting below `beforeRank` and the id of the filter. */
  listBy(
    order: AccountRank,
    { beforeId, name, suspended, limit }: AccountFilter,
    beforeRank: string | null,
  ): Promise<RankedAccountRow[]> {
    const values = [name, suspended, limit, beforeId, beforeRank];
    return readRows<RankedAccountRow>(this.#cells.sole.sequelize, ORDERS[order], values);
  }

  async idOfName(name: string): Promise<string | undefined> {
    return (await readRows<{ id: string }>(this.#cells.sole.sequelize, accountByName, [name]))[0]?.id;
  }

  async isEmpty(): Promise<boolean> {
    return (await readRows<{ id: string }>(this.#cells.sole.sequelize, anyAccount, [])).length === 0;
  }

  /** Returns the provider that took the money of a purchase, or undefined when the account has no such purchase. */
  async purchaseProvider(accountId: string, reference: string): Promise<string | undefined> {
    const rows = await readRows<{ provider: string }>(this.#cells.of(accountId).sequelize, purchaseProvider, [
      accountId,
      reference,
    ]);
    return rows[0]?.provider;
  }
}
