import type { Migration } from './migration.types.ts';

/** A claim for the post-processing is no new attempt at the generation: what customers read as attempts is counted apart. */
export const generationRuns: Migration = {
  name: '0015-generation-runs',
  up: `
    ALTER TABLE tasks ADD COLUMN generation_runs integer NOT NULL DEFAULT 0;
    -- of what has gone before only the claims are known: the last one of an ended task was the post-processing's
    UPDATE tasks SET generation_runs = greatest(1, attempt - 1) WHERE attempt > 0;`,
  down: 'ALTER TABLE tasks DROP COLUMN generation_runs;',
};
