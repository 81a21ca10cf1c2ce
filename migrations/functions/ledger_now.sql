-- The ledger's time. Tests move it with SET tollgate.clock_offset = '40 days'; nobody else sets it.
CREATE OR REPLACE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE
RETURN clock_timestamp() + coalesce(nullif(current_setting('tollgate.clock_offset', true), ''), '0 s')::interval;
