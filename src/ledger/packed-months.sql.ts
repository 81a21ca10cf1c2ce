import type { SqlStatement } from '../store/statement.ts';

/** $1 a table's name. → bytes with its indexes; NULL: there is no such table */
export const tableBytes: SqlStatement = {
  name: 'pack_table_bytes',
  text: 'SELECT pg_total_relation_size(to_regclass($1))::text AS bytes',
};

/** $1 a table's name. → index: its quoted name, is_valid: false for what a build that was broken off has left */
export const indexesOf: SqlStatement = {
  name: 'pack_indexes_of',
  text: `SELECT i.indexrelid::regclass::text AS index, i.indisvalid AS is_valid FROM pg_index i
          WHERE i.indrelid = to_regclass($1) ORDER BY i.indexrelid`,
};
