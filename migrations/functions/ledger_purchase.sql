CREATE OR REPLACE FUNCTION ledger_purchase(account uuid, entry_reference uuid, paid bigint, note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  balance balances;
  existing text;
  repaid bigint;
BEGIN
  IF paid <= 0 THEN
    RAISE EXCEPTION 'a purchase is positive, not %', paid;
  END IF;
  SELECT * INTO balance FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'account_not_found';
  END IF;
  existing := ledger_existing(account, 'credit_purchase', entry_reference, paid);
  IF existing IS NOT NULL THEN
    RETURN existing;
  END IF;
  PERFORM ledger_append(account, 'credit_purchase', paid, 'cash_clearing', entry_reference, NULL, NULL, note);
  IF balance.debt > 0 THEN
    repaid := least(balance.debt, paid);
    UPDATE balances b SET debt = b.debt - repaid WHERE b.account_id = account;
    PERFORM ledger_append(account, 'adjustment', -repaid, 'cash_clearing', entry_reference, NULL, NULL,
      'Repayment of a reversed payment');
  END IF;
  RETURN 'posted';
END $$;
