import type { Migration } from './migration.types.ts';

/** Since when a task has let others go first whose model its host had loaded: its patience is counted from there. */
export const passedOverTasks: Migration = {
  name: '0112-passed-over-tasks',
  up: 'ALTER TABLE tasks ADD COLUMN passed_over_at timestamptz;',
  down: 'ALTER TABLE tasks DROP COLUMN passed_over_at;',
};
