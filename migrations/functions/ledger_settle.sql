-- Settlement. One call closes a batch of holds: charge, release, generation, ledger entry, roll-up, task ending and
-- webhook in one transaction. A hold that no longer exists was settled before: its stored charge is returned, nothing is written.
-- What a call gives back repays its account's debt first, like any other credits.
CREATE OR REPLACE FUNCTION ledger_settle(batch jsonb) RETURNS TABLE (id uuid, outcome text, charge bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
#variable_conflict use_column
DECLARE
  settlements hold_settlement[];
  account_ids uuid[];
  ended_tasks uuid[] := '{}';
  closing uuid[];
  closed holds[];
  unusual boolean;
  indebted boolean;
  settled_at timestamptz;
BEGIN
  -- an id that appears twice in a batch is settled once
  SELECT array_agg(ROW (s.*)::hold_settlement), array_agg(s.account_id) INTO settlements, account_ids
    FROM (SELECT DISTINCT ON (s.id) s.* FROM jsonb_populate_recordset(NULL::hold_settlement, batch) s ORDER BY s.id) s;
  SELECT coalesce(bool_or(l.debt > 0), false) INTO indebted
    FROM (SELECT b.debt FROM balances b WHERE b.account_id = ANY (account_ids) ORDER BY b.account_id FOR NO KEY UPDATE) l;
  -- read after the locks: an entry's time must not be before that of the entry the lock waited for
  settled_at := ledger_now();
  IF EXISTS (SELECT 1 FROM unnest(settlements) s WHERE s.task IS NOT NULL) THEN
    ended_tasks := ledger_end_tasks(settlements, settled_at);
    settlements := ledger_add_billed_runs(settlements, ended_tasks);
  END IF;

  -- Holds are found by id alone: the other conditions are written so that no index can be used for them. When the statistics show few
  -- holds, as after a quiet period, any index looks equally good, and a plan by account or by kind reads all open holds for each
  -- settlement: 2,100 to 5,000 settlements per second on one account instead of 13,000.
  WITH gone AS (
    DELETE FROM holds h USING unnest(settlements) s
     WHERE h.id = s.id AND h.account_id IS NOT DISTINCT FROM s.account_id AND h.api_key_id IS NOT DISTINCT FROM s.api_key_id
       AND (NOT s.only_expired OR h.expires_at < settled_at)
       AND h.is_task = (s.task IS NOT NULL) AND CASE WHEN h.is_task THEN h.id = ANY (ended_tasks) ELSE true END
    RETURNING h.id, h AS hold, s.charge > h.amount OR s.waiver_max IS NOT NULL AS unusual)
  SELECT coalesce(array_agg(g.id), '{}'), array_agg(g.hold), coalesce(bool_or(g.unusual), false) INTO closing, closed, unusual FROM gone g;
  IF NOT closing @> ended_tasks THEN
    RAISE EXCEPTION 'these tasks ended without an open hold: %', ended_tasks;
  END IF;

  IF unusual THEN
    settlements := ledger_cover(settlements, closed, settled_at);
  END IF;

  IF cardinality(closing) > 0 THEN
    PERFORM ledger_write_settled(settlements, closing, closed, settled_at);
    IF indebted THEN
      PERFORM ledger_repay_debt(s.account_id, s.id)
         FROM (SELECT DISTINCT ON (s.account_id) s.account_id, s.id FROM unnest(settlements) s WHERE s.id = ANY (closing)
                ORDER BY s.account_id, s.id) s;
    END IF;
    RETURN QUERY SELECT s.id, 'settled', s.charge FROM unnest(settlements) s WHERE s.id = ANY (closing);
  END IF;
  IF cardinality(closing) = cardinality(settlements) THEN
    RETURN;
  END IF;

  -- The rest was closed before, is held by another claim of its task, or never existed.
  RETURN QUERY
  WITH rest AS (
    SELECT s.id, s.account_id, s.charge, s.task IS NOT NULL AS is_task, g.charge AS stored, h.id IS NOT NULL AS open
      FROM unnest(settlements) s LEFT JOIN generations g ON g.id = s.id LEFT JOIN holds h ON h.id = s.id
     WHERE s.id <> ALL (closing)),
  late AS (
    INSERT INTO write_offs (generation_id, account_id, reason, amount)
      SELECT r.id, r.account_id, 'late_settlement', r.charge - r.stored FROM rest r
       WHERE r.charge > r.stored AND NOT r.is_task
      ON CONFLICT DO NOTHING)
  SELECT r.id,
         CASE WHEN r.stored IS NOT NULL THEN 'closed' WHEN r.is_task THEN 'fenced' WHEN r.open THEN 'open'
              ELSE 'unknown' END,
         coalesce(r.stored, 0)
    FROM rest r;
END $$;

-- Writes what the settlement of open holds changes, with plain statements over arrays, one after the other. As parts of one statement they
-- would be planned together for each batch, and a router of several databases would move each result from node to node.
CREATE OR REPLACE FUNCTION ledger_write_settled(settlements hold_settlement[], closing uuid[], closed holds[],
  settled_at timestamptz) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  recorded generations[];
BEGIN
  -- in the order of the table's columns; values that are 0 in most rows are stored as NULL, which takes no bytes
  recorded := ARRAY(
    SELECT ROW (h.id, h.account_id, h.api_key_id, h.request_id, h.endpoint, coalesce(s.model, h.model), s.status, s.error_code,
                s.error_message, s.input_tokens, s.output_tokens, nullif(s.cache_read_tokens, 0), nullif(s.cache_write_tokens, 0),
                nullif(s.reasoning_tokens, 0),
                s.usage_source, coalesce(s.price_version, h.price_version), h.amount, s.charge, s.lines,
                nullif(coalesce(s.shortfall, 0) + coalesce(s.beyond_max_cost, 0) + coalesce(s.waived, 0), 0), s.provider, s.provider_cost,
                s.attempts, s.finish_reason, s.streamed, s.latency_ms, s.first_token_ms, h.created_at, greatest(b.last_at, settled_at),
                s.metering)::generations
      FROM unnest(closed) h JOIN unnest(settlements) s ON s.id = h.id JOIN balances b ON b.account_id = h.account_id);
  UPDATE balances b
     SET posted = b.posted - t.charged, used = b.used + t.charged, held = b.held - t.released,
         seq = b.seq + t.entries, last_at = t.at
    FROM (SELECT g.account_id, sum(g.hold_amount)::bigint AS released, sum(g.charge)::bigint AS charged,
                 count(*) FILTER (WHERE g.charge > 0) AS entries, max(g.completed_at) AS at
            FROM unnest(recorded) g GROUP BY 1) t
   WHERE b.account_id = t.account_id;
  UPDATE api_keys k
     SET held = k.held - t.released, spent = k.spent + t.charged, last_used_at = greatest(k.last_used_at, settled_at),
         spent_before = limit_base(k.limit_reset, k.counted_from, k.spent, k.spent_before, t.at),
         counted_from = greatest(k.counted_from, budget_start(k.limit_reset, t.at))
    FROM (SELECT g.api_key_id, sum(g.hold_amount)::bigint AS released, sum(g.charge)::bigint AS charged,
                 max(g.completed_at) AS at
            FROM unnest(recorded) g GROUP BY 1) t
   WHERE k.id = t.api_key_id;
  INSERT INTO generations SELECT * FROM unnest(recorded);
  INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, api_key_id, at)
    SELECT g.account_id, m.seq + 1 - row_number() OVER later, 'usage_charge', -g.charge,
           m.posted + (sum(g.charge) OVER later)::bigint - g.charge, 'revenue', g.id, g.api_key_id, m.last_at
      FROM unnest(recorded) g JOIN balances m ON m.account_id = g.account_id
     WHERE g.charge > 0
    -- from the last entry of an account back to the first: all of them are already included in the balance
    WINDOW later AS (PARTITION BY g.account_id ORDER BY g.id DESC ROWS UNBOUNDED PRECEDING);
  INSERT INTO usage_rollups AS u
    SELECT g.account_id, date_bin('5 minutes', g.completed_at, 'epoch'::timestamptz), g.api_key_id, g.endpoint, g.model,
           count(*), sum(g.input_tokens), sum(g.output_tokens), coalesce(sum(g.cache_read_tokens), 0),
           coalesce(sum(g.cache_write_tokens), 0), coalesce(sum(g.reasoning_tokens), 0), sum(g.charge),
           sum(coalesce((g.lines->>'input')::bigint, 0)), sum(coalesce((g.lines->>'output')::bigint, 0)),
           sum(coalesce((g.lines->>'cache_read')::bigint, 0)), sum(coalesce((g.lines->>'cache_write')::bigint, 0)),
           sum(coalesce((g.lines->>'reasoning')::bigint, 0)), sum(coalesce((g.lines->>'request')::bigint, 0)),
           sum(coalesce((g.lines->>'image')::bigint, 0)), sum(coalesce((g.lines->>'video')::bigint, 0))
      FROM unnest(recorded) g
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (account_id, bucket, api_key_id, endpoint, model) DO UPDATE SET
      requests = u.requests + excluded.requests,
      input_tokens = u.input_tokens + excluded.input_tokens,
      output_tokens = u.output_tokens + excluded.output_tokens,
      cache_read_tokens = u.cache_read_tokens + excluded.cache_read_tokens,
      cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
      charge = u.charge + excluded.charge,
      charge_input = u.charge_input + excluded.charge_input,
      charge_output = u.charge_output + excluded.charge_output,
      charge_cache_read = u.charge_cache_read + excluded.charge_cache_read,
      charge_cache_write = u.charge_cache_write + excluded.charge_cache_write,
      charge_reasoning = u.charge_reasoning + excluded.charge_reasoning,
      charge_request = u.charge_request + excluded.charge_request,
      charge_image = u.charge_image + excluded.charge_image,
      charge_video = u.charge_video + excluded.charge_video;
  IF EXISTS (SELECT 1 FROM unnest(recorded) g WHERE g.shortfall > 0) THEN
    INSERT INTO write_offs (generation_id, account_id, reason, amount)
      SELECT s.id, s.account_id, w.reason, w.amount FROM unnest(settlements) s
       CROSS JOIN LATERAL (VALUES ('above_hold', s.shortfall), ('above_max_cost', s.beyond_max_cost),
         ('provider_failure', s.waived)) w (reason, amount)
       WHERE s.id = ANY (closing) AND w.amount > 0;
  END IF;
END $$;

-- Returns the parameters of a task that outlive its prompt: repeating the task needs the same sizes.
CREATE OR REPLACE FUNCTION sizes_of(parameters jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object('width', parameters->'width', 'height', parameters->'height',
    'steps', parameters->'steps', 'seconds', parameters->'seconds'))
$$;

-- Ends the tasks whose fence and state still match. Returns their ids.
CREATE OR REPLACE FUNCTION ledger_end_tasks(settlements hold_settlement[], settled_at timestamptz) RETURNS uuid[]
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  ended uuid[];
  with_webhook boolean;
BEGIN
  WITH ending AS (
    UPDATE tasks t SET
      state = CASE WHEN s.status = 'completed' THEN 'succeeded' WHEN s.status = 'failed' THEN 'failed' ELSE 'canceled' END,
      progress = CASE WHEN s.status = 'completed' THEN 1 ELSE t.progress END,
      error_code = s.error_code, error_message = s.error_message,
      parameters = CASE WHEN (s.task->>'keep_parameters')::boolean THEN t.parameters ELSE sizes_of(t.parameters) END,
      worker = NULL, lease_until = NULL, completed_at = settled_at,
      -- in UTC: with a time zone, the sum would depend on the session's time zone
      media_expires_at = (settled_at AT TIME ZONE 'UTC' + CASE WHEN jsonb_array_length(s.task->'outputs') > 0
        THEN (s.task->>'media_ttl_ms')::bigint END * interval '1 ms') AT TIME ZONE 'UTC'
      FROM unnest(settlements) s
     WHERE s.task IS NOT NULL AND t.id = s.id AND t.account_id = s.account_id
       AND s.task->'from' ? t.state
       AND coalesce((s.task->>'attempt')::integer, t.attempt) = t.attempt
    RETURNING t.id, t.account_id, t.webhook_url, t.state, t.attempt, s.error_code, s.task->'outputs' AS outputs),
  outputs AS (
    INSERT INTO task_outputs (task_id, index, variant, storage_key, media_type, bytes, width, height, duration_ms, sha256,
        account_id)
      SELECT e.id, o.index, o.variant, o.storage_key, o.media_type, o.bytes, o.width, o.height, o.duration_ms, o.sha256,
             e.account_id
        FROM ending e, jsonb_to_recordset(e.outputs) o (index integer, variant text, storage_key text, media_type text,
          bytes bigint, width integer, height integer, duration_ms integer, sha256 text)),
  events AS (
    INSERT INTO task_events (task_id, account_id, at, state, attempt, detail)
      SELECT e.id, e.account_id, settled_at, e.state, e.attempt, e.error_code FROM ending e),
  webhooks AS (
    INSERT INTO webhook_deliveries (id, account_id, task_id, url)
      SELECT owned_id(e.account_id, settled_at), e.account_id, e.id, e.webhook_url FROM ending e WHERE e.webhook_url IS NOT NULL)
  SELECT coalesce(array_agg(e.id), '{}'), coalesce(bool_or(e.webhook_url IS NOT NULL), false) INTO ended, with_webhook FROM ending e;
  -- only if there is a webhook: transactions that notify commit one after the other
  IF with_webhook THEN
    PERFORM pg_notify('tollgate_tasks', 'webhooks');
  END IF;
  RETURN ended;
END $$;

-- Adds what engines billed for runs that did not end their tasks: runs that failed earlier, and a run whose output came after a
-- cancellation or the deadline. Returns the settlements.
CREATE OR REPLACE FUNCTION ledger_add_billed_runs(settlements hold_settlement[], ended uuid[]) RETURNS hold_settlement[]
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = ANY (ended)
                  AND (t.billed_runs <> '[]' OR t.state <> 'succeeded' AND t.raw_outputs->>'cost' IS NOT NULL)) THEN
    RETURN settlements;
  END IF;
  RETURN ARRAY(
    SELECT CASE WHEN b.runs IS NULL OR b.runs = '[]' THEN s ELSE jsonb_populate_record(s, jsonb_build_object(
             'provider', coalesce(s.provider, b.runs->-1->>'provider'), 'attempts', b.runs || coalesce(s.attempts, '[]'),
             'provider_cost', coalesce(s.provider_cost, 0) + (SELECT sum((r->>'cost')::bigint) FROM jsonb_array_elements(b.runs) r)))
           END
      FROM unnest(settlements) s LEFT JOIN LATERAL (
        SELECT t.billed_runs || CASE WHEN s.provider IS NULL AND t.raw_outputs->>'cost' IS NOT NULL THEN jsonb_build_array(
                 jsonb_build_object('provider', t.raw_outputs->'engineId', 'model', t.raw_outputs->'model', 'outcome', 'unused',
                   'latencyMs', t.raw_outputs->'latencyMs', 'cost', t.raw_outputs->'cost')) ELSE '[]' END AS runs
          FROM tasks t WHERE t.id = s.id AND t.id = ANY (ended)) b ON true);
END $$;

-- Planned once per connection, for small batches: see ledger_reserve_few.
CREATE OR REPLACE FUNCTION ledger_settle_few(batch jsonb) RETURNS TABLE (id uuid, outcome text, charge bigint)
LANGUAGE sql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS
$$ SELECT s.id, s.outcome, s.charge FROM ledger_settle(batch) s $$;
