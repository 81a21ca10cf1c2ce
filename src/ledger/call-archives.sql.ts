import type { SqlStatement } from '../store/statement.ts';

/** $1 start of a month. Why its calls must stay in the database; no row when they may be archived. → reason */
export const callsNeeded: SqlStatement = {
  name: 'archive_calls_needed',
  text: 'SELECT reason FROM calls_needed($1) reason',
};

/** Newest first. → {@link CallArchive} */
export const callArchives: SqlStatement = {
  name: 'archives_of_calls',
  text: `SELECT month_start, calls::text AS calls, columns, bytes::text AS bytes, encode(sha256, 'hex') AS sha256, exported_at, dropped_at
           FROM call_archives ORDER BY month_start DESC`,
};

/** $1 start of a month, $2 number of calls, $3 columns in the order of the file, $4 bytes, $5 digest (hex). */
export const rememberExport: SqlStatement = {
  name: 'archive_remember_export',
  text: `INSERT INTO call_archives (month_start, month_end, calls, columns, bytes, sha256)
         VALUES ($1, statement_end($1), $2, $3, $4, decode($5, 'hex'))
         ON CONFLICT (month_start) DO UPDATE SET calls = excluded.calls, columns = excluded.columns, bytes = excluded.bytes,
           sha256 = excluded.sha256, exported_at = excluded.exported_at`,
};

/** $1 start of a month, $2 the act for the audit log. Swaps the month's table of calls and records the act. */
export const swapCalls: SqlStatement = {
  name: 'archive_swap_calls',
  text: `SELECT swap_calls($1), record_act($2::jsonb, '{}')`,
};

/** $1 start of a month, $2 whether its calls are only in the file. */
export const markArchived: SqlStatement = {
  name: 'archive_mark',
  text: `UPDATE call_archives SET dropped_at = n.at
           FROM (SELECT CASE WHEN $2::boolean THEN statement_timestamp() END AS at OFFSET 0) n WHERE month_start = $1`,
};

/** $1 start of a month. → partition: its name */
export const makeNextCalls: SqlStatement = {
  name: 'archive_make_next_calls',
  text: 'SELECT make_next_calls($1) AS partition',
};

/** $1 the table's name. → columns, in the order of the table; no row when there is no such table */
export const columnsOf: SqlStatement = {
  name: 'archive_columns_of',
  text: `SELECT array_agg(quote_ident(a.attname) ORDER BY a.attnum)::text[] AS columns FROM pg_attribute a
          WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped HAVING count(*) > 0`,
};

/** $1 start of a month. Months from then on whose calls are archived. → month (YYYY-MM) */
export const archivedSince: SqlStatement = {
  name: 'archived_months_since',
  text: `SELECT to_char(month_start AT TIME ZONE 'UTC', 'YYYY-MM') AS month FROM call_archives
          WHERE dropped_at IS NOT NULL AND month_end > $1 ORDER BY 1`,
};
