CREATE OR REPLACE FUNCTION ledger_adjust(account uuid, entry_reference uuid, signed_amount bigint, note text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  free bigint;
  existing text;
BEGIN
  SELECT b.posted - b.held INTO free FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 'account_not_found';
  END IF;
  existing := ledger_replayed(account, 'adjustment', entry_reference, signed_amount, NULL, note);
  IF existing IS NOT NULL THEN
    RETURN existing;
  END IF;
  -- nobody could spend what it is given; what it has left may still be taken
  IF signed_amount > 0 AND EXISTS (SELECT FROM accounts a WHERE a.id = account AND a.erased_at IS NOT NULL) THEN
    RETURN 'account_erased';
  END IF;
  IF free + signed_amount < 0 THEN
    RETURN 'insufficient_credits';
  END IF;
  PERFORM ledger_append(account, 'adjustment', signed_amount, 'operator', entry_reference, NULL, NULL, note);
  PERFORM ledger_repay_debt(account, entry_reference);
  PERFORM record_act(current_act(), jsonb_build_object('transaction_id', transaction_id('adjustment', entry_reference)));
  RETURN 'posted';
END $$;

-- Clears a debt or a part of it without a payment here: kind 'forgiven' writes it off, 'paid' means that the money came in another way.
-- cleared NULL = all of it.
CREATE OR REPLACE FUNCTION ledger_clear_debt(account uuid, entry_reference uuid, cleared bigint, kind text, note text)
RETURNS TABLE (outcome text, amount bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  owed bigint;
  other ledger_contra := CASE kind WHEN 'forgiven' THEN 'write_off' WHEN 'paid' THEN 'cash_clearing' END;
BEGIN
  SELECT b.debt INTO owed FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  outcome := CASE WHEN NOT FOUND THEN 'account_not_found'
    ELSE ledger_replayed(account, 'adjustment', entry_reference, cleared, NULL, note) END;
  IF outcome IS NULL AND coalesce(cleared, owed) NOT BETWEEN 1 AND owed THEN
    outcome := 'exceeds_debt';
    amount := owed;
  END IF;
  IF outcome IS NULL THEN
    amount := coalesce(cleared, owed);
    PERFORM ledger_append(account, 'adjustment', amount, other, entry_reference, NULL, NULL, note);
    PERFORM ledger_append(account, 'adjustment', -amount, 'receivable', ledger_second_reference(entry_reference), NULL, NULL,
      CASE kind WHEN 'forgiven' THEN 'Debt forgiven' ELSE 'Debt paid' END);
    PERFORM record_act(current_act(), jsonb_build_object('transaction_id', transaction_id('adjustment', entry_reference),
      'amount', usd_text(amount)));
    outcome := 'posted';
  ELSIF outcome = 'exists' THEN
    SELECT e.amount INTO amount FROM ledger_entries e WHERE e.reference = entry_reference AND e.type = 'adjustment'
      AND e.contra = other;
    outcome := CASE WHEN FOUND THEN 'exists' ELSE 'reference_conflict' END;
  END IF;
  RETURN NEXT;
END $$;
