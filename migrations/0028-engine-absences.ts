import type { Migration } from './migration.types.ts';

/** An engine that goes away is no failure of the task that ran on it; what failed on one host is tried on another. */
export const engineAbsences: Migration = {
  name: '0028-engine-absences',
  up: `
    ALTER TABLE tasks
      -- runs that ended because their engine or host went away
      ADD COLUMN interruptions integer NOT NULL DEFAULT 0,
      -- why the last attempt came back
      ADD COLUMN last_failure text,
      ADD COLUMN avoid_host text,
      ADD COLUMN avoid_until timestamptz;`,
  down: `
    ALTER TABLE tasks DROP COLUMN interruptions, DROP COLUMN last_failure, DROP COLUMN avoid_host,
      DROP COLUMN avoid_until;`,
};
