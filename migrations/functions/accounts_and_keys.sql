CREATE OR REPLACE FUNCTION open_account(account uuid, account_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO accounts (id, name, created_at) VALUES (account, account_name, ledger_now());
  INSERT INTO balances (account_id, last_at) VALUES (account, ledger_now());
END $$;

-- An account with its owner key {id, hash, name, label} and, above 0, first credits; with its row in the audit log, all or nothing.
-- False when the account exists: nothing is written then.
CREATE OR REPLACE FUNCTION open_customer(account uuid, account_name text, credits bigint, key jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  reference uuid := ledger_second_reference(account);
BEGIN
  IF EXISTS (SELECT 1 FROM accounts a WHERE a.id = account) THEN
    RETURN false;
  END IF;
  PERFORM open_account(account, account_name);
  INSERT INTO api_keys (id, account_id, hash, name, label, role)
    VALUES ((key->>'id')::uuid, account, key->>'hash', key->>'name', key->>'label', 'owner');
  IF credits > 0 THEN
    PERFORM ledger_append(account, 'adjustment', credits, 'operator', reference, NULL, NULL, 'Opening credits');
  END IF;
  PERFORM record_act(current_act(), CASE WHEN credits > 0
    THEN jsonb_build_object('transaction_id', transaction_id('adjustment', reference)) ELSE '{}' END);
  RETURN true;
END $$;

-- changes: any of suspended, allowed_models. Once this commits, no hold that contradicts it can be made.
CREATE OR REPLACE FUNCTION change_account(account uuid, changes jsonb) RETURNS SETOF accounts
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
  IF FOUND THEN
    PERFORM record_act(current_act(), '{}');
  END IF;
END $$;

-- changes: any of name, label, disabled, limit_nano, expires_at, allowed_models, deleted. Absent is not null.
CREATE OR REPLACE FUNCTION change_api_key(account uuid, key uuid, changes jsonb) RETURNS SETOF api_keys
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
    PERFORM record_act(current_act(), '{}');
    PERFORM pg_notify('tollgate_keys', key::text);
  END IF;
END $$;
