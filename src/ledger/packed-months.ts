import type pg from 'pg';
import { run } from '../store/statement.ts';
import { indexesOf, markPacked, monthsToPack, tableBytes } from './packed-months.sql.ts';

/** The tables with a partition for each month. */
const MONTHLY_TABLES = ['generations', 'ledger_entries', 'usage_rollups'] as const;

/** A partition and its size with indexes, before and after packing. */
export interface PackedTable {
  readonly table: string;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/**
 * Rebuilds the indexes of a month's partitions without spare room for rows, while everyone keeps reading and writing. Indexes that begin
 * with an account or a key grow in order of time and are half empty by then. Whatever an interrupted attempt left behind is dropped first.
 * `suffix`: YYYYMM. Waits for older transactions. Throws Postgres errors.
 */
export async function packMonth(client: pg.PoolClient, suffix: string): Promise<PackedTable[]> {
  const packed: PackedTable[] = [];
  for (const table of MONTHLY_TABLES.map((name) => `${name}_${suffix}`)) {
    const bytesBefore = await bytesOf(client, table);
    if (bytesBefore === undefined) {
      continue;
    }
    for (const { index, is_valid } of await run<{ index: string; is_valid: boolean }>(client, indexesOf, [
      table,
    ])) {
      await client.query(
        is_valid ? `ALTER INDEX ${index} SET (fillfactor = 100)` : `DROP INDEX CONCURRENTLY ${index}`,
      );
    }
    await client.query(`REINDEX TABLE CONCURRENTLY ${table}`);
    await client.query(markPacked(table));
    packed.push({ table, bytesBefore, bytesAfter: (await bytesOf(client, table)) ?? 0 });
  }
  return packed;
}

/** Returns months (YYYYMM) that are over and not packed, including restored ones, oldest first. Throws Postgres errors. */
export async function suffixesToPack(client: pg.PoolClient): Promise<string[]> {
  const rows = await run<{ suffix: string }>(client, monthsToPack, [[...MONTHLY_TABLES]]);
  return rows.map(({ suffix }) => suffix);
}

async function bytesOf(client: pg.PoolClient, table: string): Promise<number | undefined> {
  const [row] = await run<{ bytes: string | null }>(client, tableBytes, [table]);
  return row?.bytes ? Number(row.bytes) : undefined;
}
