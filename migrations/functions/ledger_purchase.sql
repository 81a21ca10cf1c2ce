CREATE OR REPLACE FUNCTION ledger_purchase(account uuid, entry_reference uuid, paid bigint, note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  existing text;
BEGIN
  IF paid <= 0 THEN
    RAISE EXCEPTION 'the amount of a purchase must be positive, not %', paid;
  END IF;
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'account_not_found';
  END IF;
  existing := ledger_replayed(account, 'credit_purchase', entry_reference, paid, NULL, note);
  IF existing IS NOT NULL THEN
    RETURN existing;
  END IF;
  PERFORM ledger_append(account, 'credit_purchase', paid, 'cash_clearing', entry_reference, NULL, NULL, note);
  PERFORM ledger_repay_debt(account, entry_reference);
  RETURN 'posted';
END $$;

-- Marks a session as paid and posts its purchase, both or neither. No row when it is already
-- credited. The amount is ours, never the event's.
CREATE OR REPLACE FUNCTION credit_checkout(session uuid, payment text, note text) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  paid checkout_sessions;
BEGIN
  UPDATE checkout_sessions s
     SET status = 'complete', payment_status = 'paid', payment_id = payment, credited_at = statement_timestamp()
   WHERE s.id = session AND s.credited_at IS NULL RETURNING s.* INTO paid;
  IF FOUND THEN
    PERFORM act_as(jsonb_build_object('actor', paid.provider, 'request_id', payment));
    RETURN NEXT ledger_purchase(paid.account_id, paid.id, paid.amount, note);
  END IF;
END $$;
