/**
 * Makes `SET tollgate.clock_offset = '40 days'` move the ledger's time in one database. The schema owner runs it where a test or a
 * benchmark needs another time. As migrated, no role can move it.
 */
export const MOVABLE_CLOCK = `
  CREATE OR REPLACE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE
  RETURN clock_timestamp() + coalesce(nullif(current_setting('tollgate.clock_offset', true), ''), '0 s')::interval`;
