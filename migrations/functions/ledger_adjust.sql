CREATE OR REPLACE FUNCTION ledger_adjust(account uuid, entry_reference uuid, signed_amount bigint, note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  free bigint;
  existing text;
BEGIN
  SELECT b.posted - b.held INTO free FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'account_not_found';
  END IF;
  existing := ledger_existing(account, 'adjustment', entry_reference, signed_amount);
  IF existing IS NOT NULL THEN
    RETURN existing;
  END IF;
  IF free + signed_amount < 0 THEN
    RETURN 'insufficient_credits';
  END IF;
  PERFORM ledger_append(account, 'adjustment', signed_amount, 'operator', entry_reference, NULL, NULL, note);
  RETURN 'posted';
END $$;
