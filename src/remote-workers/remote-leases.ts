import type { LeaseSettings } from '../tasks/lease-keeper.ts';

/**
 * Claims of workers that reach the tasks through the API: longer than those of workers at the database, so that an API that restarts or a
 * line that breaks for a minute costs no run. A host that dies keeps its tasks that much longer.
 */
export const REMOTE_LEASES: LeaseSettings = { leaseMs: 60_000, heartbeatMs: 5_000 };
