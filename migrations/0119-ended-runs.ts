import type { Migration } from './migration.types.ts';

/**
 * How many runs of a task an engine accepted and ended: the next one must not be taken for a repetition of them. Without a check, which
 * would read the whole table under its lock.
 */
export const endedRuns: Migration = {
  name: '0119-ended-runs',
  up: 'ALTER TABLE tasks ADD COLUMN ended_runs integer NOT NULL DEFAULT 0;',
  down: 'ALTER TABLE tasks DROP COLUMN ended_runs;',
};
