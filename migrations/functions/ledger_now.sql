-- The ledger's time: the server's clock, and no setting of a session moves it.
CREATE OR REPLACE FUNCTION ledger_now() RETURNS timestamptz LANGUAGE sql VOLATILE
RETURN clock_timestamp();
