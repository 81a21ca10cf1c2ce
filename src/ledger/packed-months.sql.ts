import type { SqlStatement } from '../store/statement.ts';

/** $1 a table's name. → bytes, including its indexes; NULL when there is no such table */
export const tableBytes: SqlStatement = {
  name: 'pack_table_bytes',
  text: 'SELECT pg_total_relation_size(to_regclass($1))::text AS bytes',
};

/** The comment on a table whose indexes were rebuilt. */
const PACKED = 'packed';

/** $1 names of monthly tables. → suffix: YYYYMM (UTC) of the months that are over and have a table that is not packed, oldest first */
export const monthsToPack: SqlStatement = {
  name: 'pack_months_to_pack',
  // in two steps, because the suffixes of other tables are not dates
  text: `WITH monthly AS MATERIALIZED (
           SELECT c.oid, substring(c.relname FROM '_(\\d{6})$') AS suffix
             FROM pg_class c JOIN pg_inherits h ON h.inhrelid = c.oid
            WHERE h.inhparent = ANY (SELECT to_regclass(name)::oid FROM unnest($1::text[]) name))
         SELECT DISTINCT suffix FROM monthly
          WHERE to_date(suffix, 'YYYYMM') + interval '1 month' <= ledger_now() AT TIME ZONE 'UTC'
            AND obj_description(oid, 'pg_class') IS DISTINCT FROM '${PACKED}'
          ORDER BY 1`,
};

/** Returns the statement that marks a table as packed. `table` is quoted as in SQL. */
export function markPacked(table: string): string {
  return `COMMENT ON TABLE ${table} IS '${PACKED}'`;
}

/** $1 a table's name. → index: its quoted name, is_valid: false for what an interrupted build left behind */
export const indexesOf: SqlStatement = {
  name: 'pack_indexes_of',
  text: `SELECT i.indexrelid::regclass::text AS index, i.indisvalid AS is_valid FROM pg_index i
          WHERE i.indrelid = to_regclass($1) ORDER BY i.indexrelid`,
};
