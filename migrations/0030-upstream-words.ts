import type { Migration } from './migration.types.ts';

/** What an upstream said of a run that failed, for operators: without keys and prompts. */
export const upstreamWords: Migration = {
  name: '0030-upstream-words',
  up: 'ALTER TABLE task_events ADD COLUMN said text;',
  down: 'ALTER TABLE task_events DROP COLUMN said;',
};
