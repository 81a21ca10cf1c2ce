CREATE OR REPLACE FUNCTION open_account(account uuid, account_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO accounts (id, name, created_at) VALUES (account, account_name, ledger_now());
  INSERT INTO balances (account_id, last_at) VALUES (account, ledger_now());
END $$;

-- Returns the models that an account or a key is restricted to; NULL, meaning all models, when it is not a list.
CREATE OR REPLACE FUNCTION models_of(list jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT CASE WHEN jsonb_typeof(list) = 'array' THEN ARRAY(SELECT jsonb_array_elements_text(list)) END
$$;

-- Creates an account with its owner key {id, hash, name, label}, its first credits if above 0, and its row in the audit log: all or
-- nothing. Returns false, writing nothing, when the account exists.
CREATE OR REPLACE FUNCTION open_customer(account uuid, account_name text, credits bigint, key jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- changes: any of name, suspended, allowed_models, max_keys, rate_limits, billing. Once this commits,
-- no hold that contradicts it can be made. No row for an account that was erased: it stays closed.
CREATE OR REPLACE FUNCTION change_account(account uuid, changes jsonb) RETURNS SETOF accounts
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  models text[] := models_of(changes->'allowed_models');
BEGIN
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  RETURN QUERY UPDATE accounts a SET
      name = coalesce(changes->>'name', a.name),
      suspended = coalesce((changes->>'suspended')::boolean, a.suspended),
      max_keys = coalesce((changes->>'max_keys')::integer, a.max_keys),
      rate_limits = CASE WHEN changes ? 'rate_limits' THEN nullif(changes->'rate_limits', 'null') ELSE a.rate_limits END,
      allowed_models = CASE WHEN changes ? 'allowed_models' THEN models ELSE a.allowed_models END,
      billing = CASE WHEN changes ? 'billing' THEN nullif(changes->'billing', 'null') ELSE a.billing END
    WHERE a.id = account AND a.erased_at IS NULL RETURNING a.*;
  IF FOUND THEN
    PERFORM record_act(current_act(), '{}');
  END IF;
END $$;

-- changes: any of name, label, disabled, limit_nano, limit_reset, expires_at, allowed_models, rate_limits, deleted. Absent is not null.
-- A different limit_reset begins a new count; without a limit_reset, everything the key ever spent counts.
CREATE OR REPLACE FUNCTION change_api_key(account uuid, key uuid, changes jsonb) RETURNS SETOF api_keys
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  before api_keys;
  changed_at timestamptz;
  reset text;
  base bigint;
  begun timestamptz;
  -- parsed once, before the write: how a time is read depends on the session
  ends timestamptz := changes->>'expires_at';
  models text[] := models_of(changes->'allowed_models');
BEGIN
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  SELECT * INTO before FROM api_keys k
    WHERE k.id = key AND k.account_id = account AND k.deleted_at IS NULL FOR NO KEY UPDATE;
  changed_at := ledger_now();
  reset := CASE WHEN changes ? 'limit_reset' THEN changes->>'limit_reset' ELSE before.limit_reset END;
  IF reset IS NOT DISTINCT FROM before.limit_reset THEN
    base := limit_base(before.limit_reset, before.counted_from, before.spent, before.spent_before, changed_at);
    begun := greatest(before.counted_from, budget_start(reset, changed_at));
  ELSIF reset IS NULL THEN
    base := 0;
  ELSE
    base := before.spent;
    -- later than every existing entry, even if the clock was set back: refunds of those entries must not free up the new count
    SELECT greatest(changed_at, b.last_at + interval '1 microsecond') INTO begun FROM balances b WHERE b.account_id = account;
  END IF;
  RETURN QUERY UPDATE api_keys k SET
      name = coalesce(changes->>'name', k.name),
      label = coalesce(changes->>'label', k.label),
      disabled = coalesce((changes->>'disabled')::boolean, k.disabled),
      limit_nano = CASE WHEN changes ? 'limit_nano' THEN (changes->>'limit_nano')::bigint ELSE k.limit_nano END,
      cap_nano = CASE WHEN NOT changes ? 'limit_nano' AND reset IS NOT DISTINCT FROM k.limit_reset THEN k.cap_nano
        WHEN NOT changes ? 'limit_nano' AND k.limit_nano IS NULL THEN NULL
        WHEN NOT changes ? 'limit_nano' THEN greatest(k.limit_nano, k.spent - base + k.held)
        WHEN changes->>'limit_nano' IS NULL THEN NULL
        ELSE greatest((changes->>'limit_nano')::bigint, k.spent - base + k.held) END,
      limit_reset = reset, spent_before = base, counted_from = begun,
      expires_at = CASE WHEN changes ? 'expires_at' THEN ends ELSE k.expires_at END,
      allowed_models = CASE WHEN changes ? 'allowed_models' THEN models ELSE k.allowed_models END,
      rate_limits = CASE WHEN changes ? 'rate_limits' THEN nullif(changes->'rate_limits', 'null') ELSE k.rate_limits END,
      deleted_at = CASE WHEN (changes->>'deleted')::boolean THEN coalesce(k.deleted_at, changed_at) ELSE k.deleted_at END
    WHERE k.id = key AND k.account_id = account AND k.deleted_at IS NULL RETURNING k.*;
  IF FOUND THEN
    PERFORM record_act(current_act(), '{}');
    PERFORM pg_notify('tollgate_keys', key::text);
  END IF;
END $$;

-- key: {id, hash, name, label, role, disabled, limit_nano, limit_reset, expires_at, rate_limits, allowed_models}. No row when the account
-- has reached its maximum number of keys or was erased. An act key.create that was given to act_as is written to the audit log with it.
CREATE OR REPLACE FUNCTION create_api_key(account uuid, key jsonb) RETURNS SETOF api_keys
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  most integer;
  models text[] := models_of(key->'allowed_models');
BEGIN
  -- one creation at a time per account, so that each counts the keys created before it; calls do not wait for this lock
  SELECT a.max_keys INTO most FROM accounts a WHERE a.id = account AND a.erased_at IS NULL FOR NO KEY UPDATE;
  IF NOT FOUND OR (SELECT count(*) FROM api_keys k WHERE k.account_id = account AND k.deleted_at IS NULL) >= most THEN
    RETURN;
  END IF;
  RETURN QUERY INSERT INTO api_keys (id, account_id, hash, name, label, role, disabled, limit_nano, cap_nano,
                                   limit_reset, counted_from, expires_at, rate_limits, allowed_models)
    VALUES ((key->>'id')::uuid, account, key->>'hash', key->>'name', key->>'label', key->>'role',
            coalesce((key->>'disabled')::boolean, false), (key->>'limit_nano')::bigint, (key->>'limit_nano')::bigint,
            key->>'limit_reset', CASE WHEN key->>'limit_reset' IS NOT NULL THEN ledger_now() END, (key->>'expires_at')::timestamptz,
            nullif(key->'rate_limits', 'null'), models)
    RETURNING *;
  -- the key of a person who joins is a part of that act, which is recorded as a whole
  IF current_act()->>'action' = 'key.create' THEN
    PERFORM record_act(current_act(), jsonb_build_object('hash', key->>'hash', 'role', key->>'role'));
  END IF;
END $$;

-- Deletes keys that expired `age` ago, and the rows of keys that were deleted `age` ago and appear in no report. Looks at up to
-- `most` of either kind, at each deleted key only once. Returns how many it deleted or looked at; 0 means that nothing is left to do.
CREATE OR REPLACE FUNCTION forget_api_keys(age interval, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  ended integer;
  judged_keys integer;
  ended_at timestamptz := ledger_now();
BEGIN
  UPDATE api_keys k SET deleted_at = ended_at
    FROM (SELECT e.id FROM api_keys e WHERE e.expires_at < ended_at - age AND e.deleted_at IS NULL
           ORDER BY e.expires_at LIMIT most FOR NO KEY UPDATE SKIP LOCKED) expired
   WHERE k.id = expired.id;
  GET DIAGNOSTICS ended = ROW_COUNT;
  WITH aged AS (
    SELECT k.id, k.account_id, k.created_at FROM api_keys k
     WHERE k.deleted_at < ended_at - age AND k.has_history IS NULL AND k.held = 0
     ORDER BY k.deleted_at LIMIT most FOR UPDATE SKIP LOCKED),
  judged AS MATERIALIZED (
    -- every settled call, charged or free, wrote a roll-up in the same transaction
    SELECT a.id, EXISTS (SELECT FROM ledger_entries e WHERE e.api_key_id = a.id)
              OR EXISTS (SELECT FROM usage_rollups u WHERE u.account_id = a.account_id AND u.api_key_id = a.id
                           AND u.bucket >= date_bin('5 minutes', a.created_at, 'epoch'::timestamptz)) AS used
      FROM aged a),
  kept AS (UPDATE api_keys k SET has_history = true FROM judged j WHERE j.used AND k.id = j.id),
  signed_out AS (DELETE FROM console_sessions s USING judged j WHERE NOT j.used AND s.api_key_id = j.id),
  forgotten AS (DELETE FROM api_keys k USING judged j WHERE NOT j.used AND k.id = j.id)
  SELECT count(*) INTO judged_keys FROM judged;
  RETURN ended + judged_keys;
END $$;

-- Closes an account for good and erases what identifies its owner: its name, the recipient of its documents, its keys' names, its members,
-- invitations and sessions, its webhooks, and the parameters and files of tasks. Cancels those that have not ended. Entries, calls,
-- statements and issued documents stay. Returns false when there is no such account.
CREATE OR REPLACE FUNCTION erase_account(account uuid) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  now_at timestamptz := ledger_now();
BEGIN
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE accounts a SET name = 'erased', billing = NULL, suspended = true, erased_at = coalesce(a.erased_at, now_at)
    WHERE a.id = account;
  DELETE FROM console_sessions s WHERE s.account_id = account;
  DELETE FROM members m WHERE m.account_id = account;
  DELETE FROM invitations i WHERE i.account_id = account;
  DELETE FROM webhook_secrets s WHERE s.account_id = account;
  DELETE FROM account_alerts s WHERE s.account_id = account;
  DELETE FROM webhook_deliveries w WHERE w.account_id = account;
  -- the sweep and the workers end what still waits or runs
  UPDATE tasks t SET webhook_url = NULL,
      parameters = CASE WHEN t.completed_at IS NULL THEN sizes_of(t.parameters) END,
      cancel_requested_at = CASE WHEN t.completed_at IS NULL THEN coalesce(t.cancel_requested_at, now_at) ELSE t.cancel_requested_at END
    WHERE t.account_id = account AND (t.completed_at IS NULL OR t.webhook_url IS NOT NULL OR t.parameters IS NOT NULL);
  -- retention deletes the files within minutes
  UPDATE tasks t SET media_expires_at = now_at WHERE t.account_id = account AND t.media_expires_at > now_at;
  UPDATE api_keys k SET name = 'erased', label = 'erased', deleted_at = coalesce(k.deleted_at, now_at) WHERE k.account_id = account;
  PERFORM record_act(current_act(), '{}');
  RETURN true;
END $$;
