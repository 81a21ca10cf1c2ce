import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import type { ContraAccount, EntryKey, ReasonCode, TransactionType } from './transaction-id.ts';
import {
  transactionByReference,
  transactionsPage,
  transactionsPageByKey,
  transactionsPageByType,
} from './transactions.sql.ts';

/** A ledger entry; amounts are nano-USD as decimal text. */
export interface EntryRow {
  readonly type: TransactionType;
  readonly reference: string;
  readonly seq: string;
  readonly amount: string;
  readonly balance_after: string;
  readonly contra: ContraAccount;
  /** Null on usage and on entries of earlier releases. */
  readonly reason_code: Exclude<ReasonCode, 'usage'> | null;
  readonly reverses: string | null;
  readonly description: string | null;
  readonly at: Date;
  /** `at` with microseconds, as used in positions. */
  readonly at_text: string;
  /** Version of the statement in force; null when that is the first, or when there is none yet. */
  readonly statement_version: number | null;
}

export interface EntryFilter {
  readonly accountId: string;
  readonly from: Date | null;
  readonly before: Date | null;
  readonly type: TransactionType | null;
  readonly apiKeyId: string | null;
  readonly limit: number;
  /** Time with microseconds and seq of the last row of the previous page. */
  readonly after: readonly string[] | undefined;
}

export class TransactionsReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns entries, newest first. */
  list(filter: EntryFilter): Promise<EntryRow[]> {
    const { accountId, from, before, type, apiKeyId, limit, after } = filter;
    const values = [accountId, from, before, after?.[0] ?? null, after?.[1] ?? null, limit];
    const { sequelize } = this.#cells.of(accountId);
    if (apiKeyId !== null) {
      return readRows<EntryRow>(sequelize, transactionsPageByKey, [...values, apiKeyId, type]);
    }
    const statement = type === null ? transactionsPage : transactionsPageByType[type];
    return readRows<EntryRow>(sequelize, statement ?? transactionsPage, values);
  }

  async find(accountId: string, key: EntryKey): Promise<EntryRow | undefined> {
    const values = [accountId, key.reference, key.type];
    return (await readRows<EntryRow>(this.#cells.of(accountId).sequelize, transactionByReference, values))[0];
  }
}
