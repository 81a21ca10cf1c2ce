CREATE OR REPLACE FUNCTION ledger_purchase(account uuid, entry_reference uuid, paid bigint, note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  existing text;
BEGIN
  IF paid <= 0 THEN
    RAISE EXCEPTION 'a purchase is positive, not %', paid;
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
