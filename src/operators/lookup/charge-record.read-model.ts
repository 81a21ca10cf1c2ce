import type { GenerationRow, GenerationsReadModel } from '../../generations/generations.read-model.ts';
import type { StoredAttempts } from '../../ledger/stored-call.ts';
import { uuidTimeMs } from '../../lib/ids.ts';
import type { Cells } from '../../store/cells.ts';
import { readRows } from '../../store/report.ts';
import type { LedgerEntryRow } from '../ledger-entries.read-model.ts';
import { archivedMonthAt, chargeRecord, entriesOfCharge, writeOffsOfCharge } from './charge-record.sql.ts';

/** The operator-only part of a generation; amounts are nano-USD as decimal text. */
export interface ChargeRecordRow {
  readonly account_id: string;
  readonly account_name: string;
  readonly api_key_name: string;
  readonly held: string;
  /** What it was worth beyond its charge. */
  readonly shortfall: string;
  readonly provider: string | null;
  readonly provider_cost: string | null;
  readonly attempts: StoredAttempts;
}

export interface ChargeWriteOffRow {
  readonly reason: string;
  readonly amount: string;
  readonly at: Date;
}

export interface ChargeRecord {
  readonly generation: GenerationRow;
  readonly record: ChargeRecordRow;
  /** Its charge and refunds, oldest first. */
  readonly entries: readonly LedgerEntryRow[];
  readonly writeOffs: readonly ChargeWriteOffRow[];
}

/** Reads one generation of any account, with everything that explains its charge. Never its content. */
export class ChargeRecordReadModel {
  readonly #cells: Cells;
  readonly #generations: Pick<GenerationsReadModel, 'find'>;

  constructor(cells: Cells, generations: Pick<GenerationsReadModel, 'find'>) {
    this.#cells = cells;
    this.#generations = generations;
  }

  /** Finds a generation by its stored id; `id` is the public one. */
  async find(uuid: string, id: string): Promise<ChargeRecord | undefined> {
    const [record] = await readRows<ChargeRecordRow>(this.#cells.ofOwned(uuid).sequelize, chargeRecord, [
      uuid,
    ]);
    if (!record) {
      return undefined;
    }
    const { sequelize } = this.#cells.of(record.account_id);
    const [generation, entries, writeOffs] = await Promise.all([
      this.#generations.find(record.account_id, id),
      readRows<LedgerEntryRow>(sequelize, entriesOfCharge, [record.account_id, uuid]),
      readRows<ChargeWriteOffRow>(sequelize, writeOffsOfCharge, [uuid]),
    ]);
    return generation && { generation, record, entries, writeOffs };
  }

  /** Returns the month (YYYY-MM) of a stored id, when its calls are only in an archive file. */
  async archivedMonthOf(uuid: string): Promise<string | undefined> {
    const values = [new Date(uuidTimeMs(uuid))];
    const [row] = await readRows<{ month: string }>(
      this.#cells.ofOwned(uuid).sequelize,
      archivedMonthAt,
      values,
    );
    return row?.month;
  }
}
