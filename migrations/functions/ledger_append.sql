-- Posts one entry. The caller holds the lock of the account's balance.
CREATE OR REPLACE FUNCTION ledger_append(account uuid, entry_type ledger_entry_type, signed_amount bigint, other ledger_contra,
  entry_reference uuid, reversed uuid, key uuid, note text) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  balance balances;
BEGIN
  UPDATE balances b SET posted = b.posted + signed_amount, seq = b.seq + 1, last_at = greatest(b.last_at, ledger_now()),
      used = b.used - CASE WHEN entry_type = 'refund' AND other = 'revenue' THEN signed_amount ELSE 0 END
    WHERE b.account_id = account RETURNING b.* INTO STRICT balance;
  INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, reverses, api_key_id,
                              description, at)
    VALUES (account, balance.seq, entry_type, signed_amount, balance.posted, other, entry_reference, reversed, key,
            note, balance.last_at);
END $$;

-- Outcome of a movement: 'posted', 'exists' (same reference, same amount: nothing written), or why it was refused.
CREATE OR REPLACE FUNCTION ledger_existing(account uuid, entry_type ledger_entry_type, entry_reference uuid, signed_amount bigint)
RETURNS text LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
  SELECT CASE WHEN e.account_id = account AND e.amount = signed_amount THEN 'exists' ELSE 'reference_conflict' END
    FROM ledger_entries e WHERE e.reference = entry_reference AND e.type = entry_type
$$;
