import type { LeaseSettings } from '../tasks/lease-keeper.ts';

/**
 * The leases of workers that reach tasks through the API. They are longer than those of workers at the database, so an API restart or a
 * connection lost for a minute costs no run. In return, a host that dies keeps its tasks that much longer.
 */
export const REMOTE_LEASES: LeaseSettings = { leaseMs: 60_000, heartbeatMs: 5_000 };
