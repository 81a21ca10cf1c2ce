-- Returns the nano-USD of a purchase that were reversed and not reinstated.
CREATE OR REPLACE FUNCTION payment_reversed(purchase uuid) RETURNS bigint
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT (coalesce((SELECT sum(r.amount) FROM payment_reversals r WHERE r.purchase_reference = purchase), 0)
    - coalesce((SELECT sum(i.amount) FROM payment_reinstatements i WHERE i.purchase_reference = purchase), 0))::bigint
$$;

-- Books the full amount that the payment provider took back. What the balance cannot cover becomes a debt, which blocks new holds.
CREATE OR REPLACE FUNCTION ledger_reverse_payment(account uuid, entry_reference uuid, purchase_reference uuid, taken bigint, note text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  balance balances;
  existing payment_reversals;
  purchased bigint;
  reversed bigint;
  from_balance bigint;
BEGIN
  IF taken <= 0 THEN
    RAISE EXCEPTION 'the amount of a reversal must be positive, not %', taken;
  END IF;
  SELECT * INTO balance FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'account_not_found';
  END IF;
  SELECT * INTO existing FROM payment_reversals r WHERE r.reference = entry_reference;
  IF FOUND THEN
    RETURN CASE WHEN existing.account_id = account AND existing.amount = taken
      AND existing.purchase_reference = ledger_reverse_payment.purchase_reference
      AND NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.reference = entry_reference AND e.type = 'refund'
                         AND e.description IS DISTINCT FROM note) THEN 'exists' ELSE 'reference_conflict' END;
  END IF;
  IF EXISTS (SELECT 1 FROM ledger_entries e WHERE e.reference = entry_reference) THEN
    RETURN 'reference_conflict';
  END IF;
  SELECT e.amount INTO purchased FROM ledger_entries e
    WHERE e.reference = purchase_reference AND e.type = 'credit_purchase' AND e.account_id = account;
  IF NOT FOUND THEN
    RETURN 'purchase_not_found';
  END IF;
  reversed := payment_reversed(ledger_reverse_payment.purchase_reference);
  IF reversed + taken > purchased THEN
    RETURN 'exceeds_purchase';
  END IF;
  from_balance := least(taken, balance.posted - balance.held);
  INSERT INTO payment_reversals (reference, account_id, purchase_reference, amount, from_balance, at)
    VALUES (entry_reference, account, ledger_reverse_payment.purchase_reference, taken, from_balance, ledger_now());
  -- the debt is posted first, so that no entry leaves the balance below what is held
  IF taken > from_balance THEN
    PERFORM ledger_append(account, 'adjustment', taken - from_balance, 'receivable', ledger_second_reference(entry_reference),
      ledger_reverse_payment.purchase_reference, NULL, 'Owed for a reversed payment');
  END IF;
  PERFORM ledger_append(account, 'refund', -taken, 'cash_clearing', entry_reference,
    ledger_reverse_payment.purchase_reference, NULL, note);
  PERFORM record_act(current_act(), jsonb_build_object('transaction_id', transaction_id('refund', entry_reference),
    'amount', usd_text(taken), 'debt', usd_text(taken - from_balance)));
  RETURN 'posted';
END $$;

-- Books the full amount that the provider gave back after taking it from a payment, then repays the account's debt from it.
CREATE OR REPLACE FUNCTION ledger_reinstate_payment(account uuid, entry_reference uuid, purchase_reference uuid, given bigint,
  note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  balance balances;
  existing payment_reinstatements;
  earlier record;
  to_balance bigint;
BEGIN
  IF given <= 0 THEN
    RAISE EXCEPTION 'the amount of a reinstatement must be positive, not %', given;
  END IF;
  SELECT * INTO balance FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'account_not_found';
  END IF;
  SELECT * INTO existing FROM payment_reinstatements i WHERE i.reference = entry_reference;
  IF FOUND THEN
    RETURN CASE WHEN existing.account_id = account AND existing.amount = given THEN 'exists'
                ELSE 'reference_conflict' END;
  END IF;
  -- before this table existed, a reinstatement was booked as an adjustment of the whole amount
  SELECT e.account_id, e.amount INTO earlier FROM ledger_entries e WHERE e.reference = entry_reference AND e.type = 'adjustment';
  IF FOUND THEN
    RETURN CASE WHEN earlier.account_id = account AND earlier.amount = given THEN 'exists' ELSE 'reference_conflict' END;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM ledger_entries e WHERE e.account_id = account AND e.type = 'credit_purchase'
                   AND e.reference = ledger_reinstate_payment.purchase_reference) THEN
    RETURN 'purchase_not_found';
  END IF;
  IF given > payment_reversed(ledger_reinstate_payment.purchase_reference) THEN
    RETURN 'exceeds_reversal';
  END IF;
  to_balance := greatest(given - balance.debt, 0);
  INSERT INTO payment_reinstatements (reference, account_id, purchase_reference, amount, to_balance, at)
    VALUES (entry_reference, account, ledger_reinstate_payment.purchase_reference, given, to_balance, ledger_now());
  PERFORM ledger_append(account, 'adjustment', given, 'cash_clearing', entry_reference,
    ledger_reinstate_payment.purchase_reference, NULL, note);
  PERFORM ledger_repay_debt(account, entry_reference);
  RETURN 'posted';
END $$;
