import pg from 'pg';

/** Bytes of a table with all its partitions and TOAST data, or of one of its indexes. */
export interface Relation {
  readonly table: string;
  /** Null for the rows. */
  readonly index: string | null;
  readonly bytes: number;
}

/** Returns every table that has rows, and its indexes. Rethrows Postgres errors. */
export async function measureBytes(ownerUrl: string): Promise<readonly Relation[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ table: string; index: string | null; bytes: string }>(`
      SELECT coalesce(pg_partition_root(t.oid), t.oid)::regclass::text AS table,
             CASE WHEN i.indexrelid IS NOT NULL THEN coalesce(pg_partition_root(i.indexrelid), i.indexrelid)::regclass::text END AS index,
             sum(CASE WHEN i.indexrelid IS NULL THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END) AS bytes
        FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = coalesce(i.indrelid, c.oid)
       WHERE c.relkind IN ('r', 'i') AND c.relnamespace = to_regnamespace('public')
       GROUP BY 1, 2 ORDER BY 1, 2 NULLS FIRST`);
    return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
  } finally {
    await client.end();
  }
}
