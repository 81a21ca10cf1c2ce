import type { Sequelize } from 'sequelize';
import type { EntryRow } from '../billing/transactions.read-model.ts';
import { readRows } from '../store/report.ts';
import { allEntries } from './ledger-entries.sql.ts';

/** An entry of any account, with the actor that booked it and the provider's id of its payment. */
export interface LedgerEntryRow extends EntryRow {
  readonly account_id: string;
  readonly actor: string | null;
  readonly request_id: string | null;
  /** The call it charges, if its row still exists. The request is derived from it when none is stored. */
  readonly call_id: string | null;
  readonly payment_id: string | null;
}

export class LedgerEntriesReadModel {
  readonly #sequelize: Sequelize;

  constructor(sequelize: Sequelize) {
    this.#sequelize = sequelize;
  }

  /** Lists entries by account and time, after the position [account, time with µs, seq]. */
  list(
    from: Date | null,
    before: Date | null,
    after: readonly string[] | undefined,
    limit: number,
    onlyManual: boolean,
  ): Promise<LedgerEntryRow[]> {
    const position = [after?.[0] ?? null, after?.[1] ?? null, after?.[2] ?? null];
    return readRows<LedgerEntryRow>(this.#sequelize, allEntries, [
      from,
      before,
      ...position,
      limit,
      onlyManual,
    ]);
  }
}
