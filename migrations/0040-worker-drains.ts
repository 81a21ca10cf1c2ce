import type { Migration } from './migration.types.ts';

/**
 * The worker processes as they last said they were, and the hosts that take no work because an operator wants it so. A drain is the host's,
 * not the process's: it outlives restarts.
 */
export const workerDrains: Migration = {
  name: '0040-worker-drains',
  up: `
    CREATE TABLE workers (
      worker text PRIMARY KEY,
      host text NOT NULL,
      version text NOT NULL,
      queues text[] NOT NULL,
      -- pools whose engine is away from it
      resting text[] NOT NULL,
      -- tasks it has claimed
      running integer NOT NULL CHECK (running >= 0),
      -- why it takes no work: an operator's wish, or a notice that its host goes
      draining text CHECK (draining IN ('operator', 'notice')),
      started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE TABLE worker_drains (
      host text PRIMARY KEY,
      actor text NOT NULL,
      at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
  `,
  down: `
    DROP TABLE worker_drains;
    DROP TABLE workers;
  `,
};
