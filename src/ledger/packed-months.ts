import type pg from 'pg';
import { run } from '../store/statement.ts';
import { indexesOf, markPacked, monthsToPack, tableBytes } from './packed-months.sql.ts';

/** What has a partition for each month. */
const MONTHLY_TABLES = ['generations', 'ledger_entries', 'usage_rollups'] as const;

/** A partition and what it takes with its indexes. */
export interface PackedTable {
  readonly table: string;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

/**
 * Builds the indexes of a month's partitions anew, without room for rows that will not come, while everybody reads and writes. Those that
 * begin with an account or a key grow in the order of time and are half empty by then. What an attempt that was broken off has left is
 * dropped first. `suffix`: YYYYMM. Waits for transactions that are older. Throws what Postgres throws.
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

/** Months (YYYYMM) that are over and not packed, oldest first; one that was restored is not, either. Throws what Postgres throws. */
export async function suffixesToPack(client: pg.PoolClient): Promise<string[]> {
  const rows = await run<{ suffix: string }>(client, monthsToPack, [[...MONTHLY_TABLES]]);
  return rows.map(({ suffix }) => suffix);
}

async function bytesOf(client: pg.PoolClient, table: string): Promise<number | undefined> {
  const [row] = await run<{ bytes: string | null }>(client, tableBytes, [table]);
  return row?.bytes ? Number(row.bytes) : undefined;
}
