-- Returns the ledger's time: the server's clock, which no session setting can change.
CREATE OR REPLACE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE
RETURN clock_timestamp();
