-- Refunds usage: over all refunds never more than the charge. given NULL = whatever is left of the charge.
CREATE OR REPLACE FUNCTION ledger_refund_charge(account uuid, entry_reference uuid, charge_reference uuid, given bigint, note text)
RETURNS TABLE (outcome text, refunded bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  charge ledger_entries;
  before bigint;
  refunded_at timestamptz;
BEGIN
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  SELECT * INTO charge FROM ledger_entries e
    WHERE e.reference = charge_reference AND e.type = 'usage_charge' AND e.account_id = account;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'charge_not_found', NULL::bigint;
    RETURN;
  END IF;
  outcome := ledger_replayed(account, 'refund', entry_reference, given, charge_reference, note);
  IF outcome IS NOT NULL THEN
    SELECT e.amount INTO refunded FROM ledger_entries e WHERE e.reference = entry_reference AND e.type = 'refund';
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT coalesce(sum(e.amount), 0) INTO before FROM ledger_entries e
    WHERE e.reverses = charge_reference AND e.type = 'refund';
  refunded := coalesce(given, -charge.amount - before);
  IF refunded <= 0 OR before + refunded > -charge.amount THEN
    RETURN QUERY SELECT 'exceeds_charge', -charge.amount - before;
    RETURN;
  END IF;
  PERFORM ledger_append(account, 'refund', refunded, 'revenue', entry_reference, charge_reference, charge.api_key_id, note);
  -- refunding a charge of an earlier period does not free up the limit of this one
  refunded_at := ledger_now();
  UPDATE api_keys k SET spent = k.spent - refunded,
      spent_before = limit_base(k.limit_reset, k.counted_from, k.spent, k.spent_before, refunded_at) - CASE
        WHEN charge.at < greatest(k.counted_from, budget_start(k.limit_reset, refunded_at)) THEN refunded ELSE 0 END,
      counted_from = greatest(k.counted_from, budget_start(k.limit_reset, refunded_at))
    WHERE k.id = charge.api_key_id;
  PERFORM ledger_repay_debt(account, entry_reference);
  PERFORM record_act(current_act(), jsonb_build_object('transaction_id', transaction_id('refund', entry_reference),
    'amount', usd_text(refunded)));
  outcome := 'posted';
  RETURN NEXT;
END $$;
