-- Returns a new id of something the account owns: time first, the account's bucket last, like newOwnedUuid (src/lib/ids.ts).
CREATE OR REPLACE FUNCTION owned_id(account uuid, at timestamptz) RETURNS uuid
LANGUAGE sql VOLATILE SET search_path FROM CURRENT AS $$
  SELECT (left(id_floor(at)::text, 14) || substr(gen_random_uuid()::text, 15, 19) || right(account::text, 3))::uuid
$$;

-- Returns the id derived from a name, for something of the account that belongs to a time.
CREATE OR REPLACE FUNCTION named_owned_id(name text, account uuid, at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT (left(replace(id_floor(at)::text, '-', ''), 12) || substr(md5(name), 13, 17) || right(account::text, 3))::uuid
$$;

-- Returns the reference of a booking that a request names: the same whenever the request is repeated. An
-- earlier release booked under the name itself.
CREATE OR REPLACE FUNCTION booking_reference(account uuid, request uuid) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  made uuid := owned_id(account, ledger_now());
BEGIN
  IF EXISTS (SELECT 1 FROM ledger_entries e WHERE e.reference = request AND e.account_id = account) THEN
    RETURN request;
  END IF;
  -- nothing is stored for an account that does not exist
  INSERT INTO booking_references AS b (account_id, name, reference)
    SELECT a.id, request, made FROM accounts a WHERE a.id = account
    ON CONFLICT DO NOTHING;
  RETURN coalesce((SELECT b.reference FROM booking_references b WHERE b.account_id = account AND b.name = request), made);
END $$;
