import type { Migration } from './migration.types.ts';

/** What no statement looks rows up by: values as large as an order's parameters, of which ANALYZE sorts up to 30,000. */
const UNREAD = ['parameters', 'raw_outputs', 'billed_runs'];

/**
 * No statistics of the JSON of tasks. Where hundreds of tasks a second come and go, autovacuum analyses the table every time it looks,
 * and these columns took two thirds of that: 370 ms for 40,000 tasks, 130 ms without them.
 */
export const unreadStatistics: Migration = {
  name: '0116-unread-statistics',
  up: statisticsOf(0),
  down: statisticsOf(-1),
};

function statisticsOf(target: number): string {
  return `ALTER TABLE tasks ${UNREAD.map((column) => `ALTER COLUMN ${column} SET STATISTICS ${target}`).join(', ')};`;
}
