-- Adds to an open hold. Returns NULL when that is not affordable, no longer allowed, or the hold is closed.
CREATE OR REPLACE FUNCTION ledger_extend(hold uuid, account uuid, key uuid, extra bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  total bigint;
  extended_at timestamptz;
BEGIN
  IF extra <= 0 THEN
    RAISE EXCEPTION 'the amount that extends a hold must be positive, not %', extra;
  END IF;
  PERFORM 1 FROM balances b WHERE b.account_id = account AND b.posted - b.held >= extra AND b.debt = 0
    FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  extended_at := ledger_now();
  PERFORM 1 FROM api_keys k
    WHERE k.id = key AND k.account_id = account AND (k.limit_nano IS NULL OR
      limit_free(k.limit_nano, k.held, k.limit_reset, k.counted_from, k.spent, k.spent_before, extended_at) >= extra);
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  UPDATE holds h SET amount = h.amount + extra
    -- by id alone: see ledger_settle
    WHERE h.id = hold AND h.account_id IS NOT DISTINCT FROM account AND h.api_key_id IS NOT DISTINCT FROM key AND NOT h.is_task
    RETURNING h.amount INTO total;
  IF total IS NOT NULL THEN
    UPDATE balances b SET held = b.held + extra WHERE b.account_id = account;
    UPDATE api_keys k SET held = k.held + extra,
        spent_before = limit_base(k.limit_reset, k.counted_from, k.spent, k.spent_before, extended_at),
        counted_from = greatest(k.counted_from, budget_start(k.limit_reset, extended_at))
      WHERE k.id = key;
  END IF;
  RETURN total;
END $$;

-- Renews the leases of live holds. SKIP LOCKED: a hold that is being settled needs no lease, so nothing waits here.
CREATE OR REPLACE FUNCTION ledger_renew(batch jsonb, ttl_ms bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  renewed integer;
  renewed_until timestamptz := ledger_now() + ttl_ms * interval '1 ms';
BEGIN
  WITH live AS (
    SELECT h.id FROM holds h
     WHERE h.id IN (SELECT (i->>'id')::uuid FROM jsonb_array_elements(batch) i) FOR UPDATE SKIP LOCKED)
  UPDATE holds h SET expires_at = renewed_until, metered = i.metered
    FROM live, jsonb_to_recordset(batch) i (id uuid, metered jsonb)
   WHERE h.id = live.id AND i.id = h.id AND NOT h.is_task;
  GET DIAGNOSTICS renewed = ROW_COUNT;
  RETURN renewed;
END $$;
