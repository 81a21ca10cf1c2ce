-- Declares who acts in this transaction, before anything is booked: {actor, request_id, reason} for the entries, and
-- {action, object, detail} for the audit log.
CREATE OR REPLACE FUNCTION act_as(act jsonb) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM set_config('tollgate.act', act::text, true);
END $$;

-- Returns what was given to act_as in this transaction, or {}.
CREATE OR REPLACE FUNCTION current_act() RETURNS jsonb
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT coalesce(nullif(current_setting('tollgate.act', true), ''), '{}')::jsonb
$$;

-- Writes an act to the audit log, in the transaction that performs it.
-- act: {actor, request_id, action, object, detail}; nothing is written without an action. facts: more detail that is known only now.
CREATE OR REPLACE FUNCTION record_act(act jsonb, facts jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF act ? 'action' THEN
    INSERT INTO audit_log (actor, action, object, request_id, detail)
      VALUES (act->>'actor', act->>'action', act->>'object', act->>'request_id', coalesce(act->'detail', '{}') || facts);
  END IF;
END $$;

-- Returns the public id of an entry, like src/billing/transaction-id.ts: a letter and the reference as 26 base-32 digits.
CREATE OR REPLACE FUNCTION transaction_id(entry_type ledger_entry_type, reference uuid) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT 'txn_' || CASE entry_type WHEN 'credit_purchase' THEN 'P' WHEN 'usage_charge' THEN 'U' WHEN 'refund' THEN 'R' ELSE 'A' END
    || (SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substring(bits FROM digit * 5 + 1 FOR 5)::bit(5)::integer + 1, 1), ''
                 ORDER BY digit)
          FROM (SELECT B'00' || ('x' || replace(reference::text, '-', ''))::bit(128) AS bits) b, generate_series(0, 25) digit)
$$;
