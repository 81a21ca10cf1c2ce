import type { Migration } from './migration.types.ts';

/** Where a task stands in its engine's own queue, while it waits there. */
export const enginePositions: Migration = {
  name: '0098-engine-positions',
  up: 'ALTER TABLE tasks ADD COLUMN engine_position integer;',
  down: 'ALTER TABLE tasks DROP COLUMN engine_position;',
};
