-- Posts one entry in the name of the actor given to act_as. The caller holds the lock of the account's balance.
CREATE OR REPLACE FUNCTION ledger_append(account uuid, entry_type ledger_entry_type, signed_amount bigint, other ledger_contra,
  entry_reference uuid, reversed uuid, key uuid, note text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  balance balances;
  booked_at timestamptz := ledger_now();
  act jsonb := current_act();
  reason text;
BEGIN
  reason := CASE
    WHEN entry_type = 'credit_purchase' THEN 'purchase'
    WHEN other = 'receivable' THEN CASE WHEN signed_amount > 0 THEN 'debt' ELSE 'debt_repayment' END
    WHEN other = 'write_off' THEN 'write_off'
    WHEN other = 'revenue' THEN 'usage_refund'
    WHEN entry_type = 'refund' THEN coalesce(act->>'reason', 'payment_refund')
    WHEN other = 'cash_clearing' THEN CASE WHEN reversed IS NULL THEN 'bank_payment' ELSE 'reinstatement' END
    ELSE coalesce(act->>'reason', 'correction') END;
  UPDATE balances b SET posted = b.posted + signed_amount, seq = b.seq + 1, last_at = greatest(b.last_at, booked_at),
      used = b.used - CASE WHEN entry_type = 'refund' AND other = 'revenue' THEN signed_amount ELSE 0 END,
      debt = b.debt + CASE WHEN other = 'receivable' THEN signed_amount ELSE 0 END
    WHERE b.account_id = account RETURNING b.* INTO STRICT balance;
  INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, reverses, api_key_id,
                              description, at, actor, request_id, reason_code)
    VALUES (account, balance.seq, entry_type, signed_amount, balance.posted, other, entry_reference, reversed, key,
            note, balance.last_at, coalesce(act->>'actor', 'system'), act->>'request_id', reason);
  -- an account alerted to low credits is alerted again the next time they run low, however soon
  UPDATE account_alerts a SET credits_told = false
    WHERE a.account_id = account AND a.credits_told AND balance.posted >= a.credits_low;
END $$;

-- Returns what the reference already stands for: NULL nothing; 'exists' the same movement (nothing must be written);
-- 'reference_conflict' a different one, whatever the difference.
CREATE OR REPLACE FUNCTION ledger_replayed(account uuid, entry_type ledger_entry_type, entry_reference uuid, signed_amount bigint,
  reversed uuid, note text) RETURNS text LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT CASE
      WHEN bool_or(e.type = entry_type) THEN
        CASE WHEN bool_or(e.type = entry_type AND e.account_id = account AND e.amount = coalesce(signed_amount, e.amount)
                    AND e.reverses IS NOT DISTINCT FROM reversed AND e.description IS NOT DISTINCT FROM note)
          THEN 'exists' ELSE 'reference_conflict' END
      WHEN count(*) > 0 THEN 'reference_conflict' END
    FROM ledger_entries e WHERE e.reference = entry_reference
$$;
DROP FUNCTION IF EXISTS ledger_existing(uuid, ledger_entry_type, uuid, bigint);

-- Returns the reference of the second entry that a movement needs, with the time and account of the first.
CREATE OR REPLACE FUNCTION ledger_second_reference(first uuid) RETURNS uuid
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT (left(replace(first::text, '-', ''), 12) || substr(md5('second/' || first), 13, 17) || right(first::text, 3))::uuid
$$;

-- Repays the account's debt from money that came in, as far as the free balance goes. Called after the entry with that reference.
CREATE OR REPLACE FUNCTION ledger_repay_debt(account uuid, entry_reference uuid) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  repaid bigint;
BEGIN
  SELECT least(b.debt, b.posted - b.held) INTO repaid FROM balances b WHERE b.account_id = account;
  IF repaid > 0 THEN
    PERFORM ledger_append(account, 'adjustment', -repaid, 'receivable', ledger_second_reference(entry_reference), NULL, NULL,
      'Repayment of a debt');
  END IF;
END $$;
