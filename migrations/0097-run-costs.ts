import type { Migration } from './migration.types.ts';

/** What runs cost that failed and were made again: on the task until its end, and for good in its history. */
export const runCosts: Migration = {
  name: '0097-run-costs',
  up: `
    ALTER TABLE tasks ADD COLUMN billed_runs jsonb NOT NULL DEFAULT '[]';
    ALTER TABLE task_events ADD COLUMN cost bigint;
  `,
  down: `
    ALTER TABLE task_events DROP COLUMN cost;
    ALTER TABLE tasks DROP COLUMN billed_runs;
  `,
};
