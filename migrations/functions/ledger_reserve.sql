-- Admission. One call decides a whole batch of holds under the locks of their accounts' balances.
-- Lock order everywhere: balances by account id, then the keys and holds of those accounts, then tasks. Code that writes keys or holds
-- without the balance (last use, leases, old keys) skips locked rows. The lock of a balance is therefore enough: its keys and holds may be
-- written in any order, and nobody else changes what they count.
-- SECURITY DEFINER: the application role may call the function but cannot write the money tables itself.
CREATE OR REPLACE FUNCTION ledger_reserve(batch jsonb) RETURNS TABLE (id uuid, outcome text, granted bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  requests hold_request[];
  account_ids uuid[];
  candidate record;
  current_account uuid;
  current_key uuid;
  account_free bigint;
  key_free bigint;
  verdict text;
  opened holds[] := '{}';
  decided_at timestamptz;
BEGIN
  -- an id that appears twice in a batch is decided once
  SELECT array_agg(ROW (r.*)::hold_request), array_agg(r.account_id) INTO requests, account_ids
    FROM (SELECT DISTINCT ON (r.id) r.* FROM jsonb_populate_recordset(NULL::hold_request, batch) r
           ORDER BY r.id, r.ordinal) r;
  PERFORM 1 FROM balances b WHERE b.account_id = ANY (account_ids) ORDER BY b.account_id FOR NO KEY UPDATE;
  decided_at := ledger_now();

  -- Greedy in arrival order per key: a request too large for what is left does not block a small one.
  FOR candidate IN
    SELECT r.*, b.posted - b.held AS free, b.debt, a.suspended, a.allowed_models AS account_models,
           k.account_id AS key_account, k.disabled, k.deleted_at, k.expires_at AS key_expires_at,
           k.allowed_models AS key_models,
           limit_free(k.limit_nano, k.held, k.limit_reset, k.counted_from, k.spent, k.spent_before, decided_at) AS key_free,
           h.amount AS held_amount, h.account_id AS held_account, g.id IS NOT NULL AS closed
      FROM unnest(requests) r
      LEFT JOIN balances b ON b.account_id = r.account_id
      LEFT JOIN accounts a ON a.id = r.account_id
      LEFT JOIN api_keys k ON k.id = r.api_key_id
      LEFT JOIN holds h ON h.id = r.id
      LEFT JOIN generations g ON g.id = r.id
     ORDER BY r.account_id, r.api_key_id, r.ordinal
  LOOP
    IF current_account IS DISTINCT FROM candidate.account_id THEN
      current_account := candidate.account_id;
      account_free := candidate.free;
      current_key := NULL;
    END IF;
    IF current_key IS DISTINCT FROM candidate.api_key_id THEN
      current_key := candidate.api_key_id;
      key_free := candidate.key_free;
    END IF;
    verdict := CASE
      WHEN candidate.closed THEN 'closed'
      WHEN candidate.held_account = candidate.account_id THEN 'held'
      WHEN candidate.held_account IS NOT NULL THEN 'closed'
      WHEN candidate.free IS NULL OR candidate.key_account IS DISTINCT FROM candidate.account_id
        OR candidate.deleted_at IS NOT NULL THEN 'invalid_api_key'
      WHEN candidate.disabled THEN 'key_disabled'
      WHEN candidate.key_expires_at <= decided_at THEN 'key_expired'
      WHEN candidate.suspended THEN 'account_suspended'
      WHEN candidate.model <> ALL (candidate.account_models)
        OR candidate.model <> ALL (candidate.key_models) THEN 'model_not_allowed'
      WHEN candidate.debt > 0 OR account_free < candidate.minimum THEN 'insufficient_credits'
      WHEN key_free < candidate.minimum THEN 'key_limit_exceeded'
      ELSE 'granted'
    END;
    id := candidate.id;
    outcome := verdict;
    granted := NULL;
    IF verdict = 'held' THEN
      granted := candidate.held_amount;
    ELSIF verdict = 'granted' THEN
      granted := least(candidate.amount, account_free, key_free);
      account_free := account_free - granted;
      key_free := key_free - granted;
      -- in the order of the table's columns; the hold of a task is closed only by its task, however long that takes
      opened := opened || ROW (candidate.id, candidate.account_id, candidate.api_key_id, candidate.request_id,
        candidate.endpoint, candidate.model, candidate.price_version, candidate.task IS NOT NULL, granted, NULL, decided_at,
        CASE WHEN candidate.task IS NULL THEN decided_at + candidate.ttl_ms * interval '1 ms' ELSE 'infinity' END)::holds;
      outcome := 'held';
    END IF;
    RETURN NEXT;
  END LOOP;

  IF cardinality(opened) > 0 THEN
    PERFORM ledger_write_holds(requests, opened, decided_at);
  END IF;
END $$;

-- The previous version took ids and amounts, and joined them to the requests in each of its statements.
DROP FUNCTION IF EXISTS ledger_write_holds(hold_request[], uuid[], bigint[], timestamptz);

CREATE OR REPLACE FUNCTION ledger_write_holds(requests hold_request[], opened holds[], decided_at timestamptz)
RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO holds SELECT * FROM unnest(opened);
  UPDATE balances b SET held = b.held + s.granted
    FROM (SELECT h.account_id, sum(h.amount)::bigint AS granted FROM unnest(opened) h GROUP BY 1) s
   WHERE b.account_id = s.account_id;
  UPDATE api_keys k
     SET held = k.held + s.granted,
         spent_before = limit_base(k.limit_reset, k.counted_from, k.spent, k.spent_before, decided_at),
         counted_from = greatest(k.counted_from, budget_start(k.limit_reset, decided_at))
    FROM (SELECT h.api_key_id, sum(h.amount)::bigint AS granted FROM unnest(opened) h GROUP BY 1) s
   WHERE k.id = s.api_key_id;
  IF NOT EXISTS (SELECT FROM unnest(opened) h WHERE h.is_task) THEN
    RETURN;
  END IF;
  INSERT INTO tasks (id, account_id, api_key_id, endpoint, model, kind, pool, parameters, seed, charge, webhook_url,
                     created_at, not_before, deadline_at)
    SELECT r.id, r.account_id, r.api_key_id, r.endpoint, r.model, r.task->>'kind', r.task->>'pool',
           r.task->'parameters', (r.task->>'seed')::bigint, h.amount, r.task->>'webhook_url',
           decided_at, decided_at,
           -- processes of the previous release, while they are being replaced, send a time instead of a duration
           coalesce(decided_at + (r.task->>'deadline_ms')::bigint * interval '1 ms',
                    to_timestamp((r.task->>'deadline_at_ms')::double precision / 1000))
      FROM unnest(opened) h JOIN unnest(requests) r ON r.id = h.id
     WHERE h.is_task;
  INSERT INTO task_events (task_id, account_id, at, state, attempt)
    SELECT h.id, h.account_id, decided_at, 'queued', 0 FROM unnest(opened) h WHERE h.is_task;
  PERFORM pg_notify('tollgate_tasks', 'generate-' || p.pool)
     FROM (SELECT DISTINCT r.task->>'pool' AS pool FROM unnest(opened) h JOIN unnest(requests) r ON r.id = h.id
            WHERE h.is_task) p;
END $$;

-- For small batches: planned once per connection. Planning each batch anew would take almost half the time of a lone hold (1.5 ms
-- instead of 0.9 ms). From 16 items on it makes no difference, and a plan made for the batch knows how many there are.
-- Prefers indexes: a plan made while a table is empty would use a sequential scan, and keep doing so after the table has grown.
CREATE OR REPLACE FUNCTION ledger_reserve_few(batch jsonb) RETURNS TABLE (id uuid, outcome text, granted bigint)
LANGUAGE sql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS
$$ SELECT r.id, r.outcome, r.granted FROM ledger_reserve(batch) r $$;
