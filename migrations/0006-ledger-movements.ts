import type { Migration } from './migration.types.ts';

/**
 * Every movement that is no usage: purchases, adjustments, refunds, payment reversals, and the changes of keys and
 * accounts that must not race with admission. Each takes the account's lock first.
 */
export const ledgerMovements: Migration = {
  name: '0006-ledger-movements',
  up: `
    -- Posts one entry. The caller holds the lock of the account's balance.
    CREATE FUNCTION ledger_append(account uuid, entry_type ledger_entry_type, signed_amount bigint, other ledger_contra,
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
    CREATE FUNCTION ledger_existing(account uuid, entry_type ledger_entry_type, entry_reference uuid, signed_amount bigint)
    RETURNS text LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
      SELECT CASE WHEN e.account_id = account AND e.amount = signed_amount THEN 'exists' ELSE 'reference_conflict' END
        FROM ledger_entries e WHERE e.reference = entry_reference AND e.type = entry_type
    $$;

    CREATE FUNCTION ledger_purchase(account uuid, entry_reference uuid, paid bigint, note text) RETURNS text
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

    CREATE FUNCTION ledger_adjust(account uuid, entry_reference uuid, signed_amount bigint, note text) RETURNS text
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

    -- Gives usage back: never more than the charge, over all its refunds. given NULL = whatever is left of the charge.
    CREATE FUNCTION ledger_refund_charge(account uuid, entry_reference uuid, charge_reference uuid, given bigint, note text)
    RETURNS TABLE (outcome text, refunded bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
      charge ledger_entries;
      before bigint;
    BEGIN
      PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
      SELECT * INTO charge FROM ledger_entries e
        WHERE e.reference = charge_reference AND e.type = 'usage_charge' AND e.account_id = account;
      IF NOT FOUND THEN
        RETURN QUERY SELECT 'charge_not_found', NULL::bigint;
        RETURN;
      END IF;
      SELECT e.amount INTO before FROM ledger_entries e
        WHERE e.reference = entry_reference AND e.type = 'refund';
      IF FOUND THEN
        RETURN QUERY SELECT CASE WHEN before = coalesce(given, before) THEN 'exists' ELSE 'reference_conflict' END, before;
        RETURN;
      END IF;
      SELECT coalesce(sum(e.amount), 0) INTO before FROM ledger_entries e
        WHERE e.reverses = charge_reference AND e.type = 'refund';
      refunded := coalesce(given, -charge.amount - before);
      IF refunded <= 0 OR before + refunded > -charge.amount THEN
        RETURN QUERY SELECT 'exceeds_charge', -charge.amount - before;
        RETURN;
      END IF;
      PERFORM 1 FROM api_keys k WHERE k.id = charge.api_key_id FOR NO KEY UPDATE;
      PERFORM ledger_append(account, 'refund', refunded, 'revenue', entry_reference, charge_reference, charge.api_key_id, note);
      UPDATE api_keys k SET spent = k.spent - refunded WHERE k.id = charge.api_key_id;
      outcome := 'posted';
      RETURN NEXT;
    END $$;

    -- The payment provider took money back. What is free leaves the balance; the rest is a debt that blocks new holds.
    CREATE FUNCTION ledger_reverse_payment(account uuid, entry_reference uuid, purchase_reference uuid, taken bigint, note text)
    RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
      balance balances;
      purchased bigint;
      reversed bigint;
      from_balance bigint;
    BEGIN
      IF taken <= 0 THEN
        RAISE EXCEPTION 'a reversal is positive, not %', taken;
      END IF;
      SELECT * INTO balance FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
      IF NOT FOUND THEN
        RETURN 'account_not_found';
      END IF;
      IF EXISTS (SELECT 1 FROM payment_reversals r WHERE r.reference = entry_reference) THEN
        RETURN 'exists';
      END IF;
      SELECT e.amount INTO purchased FROM ledger_entries e
        WHERE e.reference = purchase_reference AND e.type = 'credit_purchase' AND e.account_id = account;
      IF NOT FOUND THEN
        RETURN 'purchase_not_found';
      END IF;
      SELECT coalesce(sum(r.amount), 0) INTO reversed FROM payment_reversals r WHERE r.purchase_reference = ledger_reverse_payment.purchase_reference;
      IF reversed + taken > purchased THEN
        RETURN 'exceeds_purchase';
      END IF;
      from_balance := least(taken, balance.posted - balance.held);
      INSERT INTO payment_reversals (reference, account_id, purchase_reference, amount, from_balance, at)
        VALUES (entry_reference, account, ledger_reverse_payment.purchase_reference, taken, from_balance, ledger_now());
      IF from_balance > 0 THEN
        PERFORM ledger_append(account, 'refund', -from_balance, 'cash_clearing', entry_reference,
          ledger_reverse_payment.purchase_reference, NULL, note);
      END IF;
      UPDATE balances b SET debt = b.debt + taken - from_balance WHERE b.account_id = account;
      RETURN 'posted';
    END $$;

    CREATE TABLE payment_reversals (
      reference uuid PRIMARY KEY,
      account_id uuid NOT NULL,
      purchase_reference uuid NOT NULL,
      amount bigint NOT NULL CHECK (amount > 0),
      from_balance bigint NOT NULL CHECK (from_balance BETWEEN 0 AND amount),
      at timestamptz NOT NULL
    );
    CREATE INDEX payment_reversals_purchase ON payment_reversals (purchase_reference);
    CREATE INDEX payment_reversals_account ON payment_reversals (account_id);
    CREATE TRIGGER payment_reversals_append_only BEFORE UPDATE OR DELETE ON payment_reversals
      FOR EACH ROW EXECUTE FUNCTION refuse_change();

    CREATE FUNCTION open_account(account uuid, account_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
      INSERT INTO accounts (id, name, created_at) VALUES (account, account_name, ledger_now());
      INSERT INTO balances (account_id, last_at) VALUES (account, ledger_now());
    END $$;

    -- changes: any of suspended, allowed_models. Once this commits, no hold that contradicts it can be made.
    CREATE FUNCTION change_account(account uuid, changes jsonb) RETURNS SETOF accounts
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
      PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
      RETURN QUERY UPDATE accounts a SET
          name = coalesce(changes->>'name', a.name),
          suspended = coalesce((changes->>'suspended')::boolean, a.suspended),
          allowed_models = CASE WHEN changes ? 'allowed_models' THEN
            CASE WHEN jsonb_typeof(changes->'allowed_models') = 'array'
              THEN ARRAY(SELECT jsonb_array_elements_text(changes->'allowed_models')) END ELSE a.allowed_models END
        WHERE a.id = account RETURNING a.*;
    END $$;

    -- changes: any of name, label, disabled, limit_nano, expires_at, allowed_models, deleted. Absent is not null.
    CREATE FUNCTION change_api_key(account uuid, key uuid, changes jsonb) RETURNS SETOF api_keys
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
      PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
      RETURN QUERY UPDATE api_keys k SET
          name = coalesce(changes->>'name', k.name),
          label = coalesce(changes->>'label', k.label),
          disabled = coalesce((changes->>'disabled')::boolean, k.disabled),
          limit_nano = CASE WHEN changes ? 'limit_nano' THEN (changes->>'limit_nano')::bigint ELSE k.limit_nano END,
          cap_nano = CASE WHEN NOT changes ? 'limit_nano' THEN k.cap_nano
            WHEN changes->>'limit_nano' IS NULL THEN NULL
            ELSE greatest((changes->>'limit_nano')::bigint, k.spent + k.held) END,
          expires_at = CASE WHEN changes ? 'expires_at' THEN (changes->>'expires_at')::timestamptz ELSE k.expires_at END,
          allowed_models = CASE WHEN changes ? 'allowed_models' THEN
            CASE WHEN jsonb_typeof(changes->'allowed_models') = 'array'
              THEN ARRAY(SELECT jsonb_array_elements_text(changes->'allowed_models')) END ELSE k.allowed_models END,
          deleted_at = CASE WHEN (changes->>'deleted')::boolean THEN coalesce(k.deleted_at, ledger_now()) ELSE k.deleted_at END
        WHERE k.id = key AND k.account_id = account AND k.deleted_at IS NULL RETURNING k.*;
      IF FOUND THEN
        PERFORM pg_notify('tollgate_keys', key::text);
      END IF;
    END $$;
  `,
  down: `
    DROP FUNCTION change_api_key;
    DROP FUNCTION change_account;
    DROP FUNCTION open_account;
    DROP TABLE payment_reversals;
    DROP FUNCTION ledger_reverse_payment;
    DROP FUNCTION ledger_refund_charge;
    DROP FUNCTION ledger_adjust;
    DROP FUNCTION ledger_purchase;
    DROP FUNCTION ledger_existing;
    DROP FUNCTION ledger_append;
  `,
};
