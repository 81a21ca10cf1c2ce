-- Settlement. One call closes a batch of holds: charge, release, generation, ledger entry, roll-up, task ending and
-- webhook in one transaction. A hold that is gone was settled before: its stored charge is returned, nothing is written.
CREATE OR REPLACE FUNCTION ledger_settle(batch jsonb) RETURNS TABLE (id uuid, outcome text, charge bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  settlements hold_settlement[];
  ended_tasks uuid[] := '{}';
  closing uuid[];
  unusual boolean;
  settled_at timestamptz;
BEGIN
  -- an id that stands in a batch twice is settled once
  settlements := ARRAY(
    SELECT ROW (s.*)::hold_settlement
      FROM (SELECT DISTINCT ON (s.id) s.* FROM jsonb_populate_recordset(NULL::hold_settlement, batch) s ORDER BY s.id) s);
  PERFORM 1 FROM balances b
    WHERE b.account_id IN (SELECT s.account_id FROM unnest(settlements) s) ORDER BY b.account_id FOR NO KEY UPDATE;
  PERFORM 1 FROM api_keys k
    WHERE k.id IN (SELECT s.api_key_id FROM unnest(settlements) s) ORDER BY k.id FOR NO KEY UPDATE;
  -- read after the locks: an entry's time must not lie before the entry the lock was waiting for
  settled_at := ledger_now();
  IF EXISTS (SELECT 1 FROM unnest(settlements) s WHERE s.task IS NOT NULL) THEN
    ended_tasks := ledger_end_tasks(settlements, settled_at);
  END IF;

  SELECT coalesce(array_agg(l.id), '{}'), coalesce(bool_or(l.unusual), false) INTO closing, unusual FROM (
    SELECT h.id, s.charge > h.amount OR s.waiver_max IS NOT NULL AS unusual FROM holds h JOIN unnest(settlements) s
        ON h.id = s.id AND h.account_id = s.account_id AND h.api_key_id = s.api_key_id
     WHERE (NOT s.only_expired OR h.expires_at < settled_at)
       AND h.is_task = (s.task IS NOT NULL) AND (NOT h.is_task OR h.id = ANY (ended_tasks))
     ORDER BY h.id FOR UPDATE OF h) l;
  IF NOT closing @> ended_tasks THEN
    RAISE EXCEPTION 'a task ended whose hold is not open: %', ended_tasks;
  END IF;

  IF unusual THEN
    settlements := ledger_cover(settlements, closing, settled_at);
  END IF;

  RETURN QUERY
  WITH closed AS (
    DELETE FROM holds h USING unnest(settlements) s WHERE h.id = ANY (closing) AND s.id = h.id
    RETURNING h.id, h.account_id, h.api_key_id, h.request_id, h.endpoint, coalesce(s.model, h.model) AS model,
              coalesce(s.price_version, h.price_version) AS price_version, h.amount, h.created_at, s),
  account_sums AS (
    SELECT c.account_id, sum(c.amount)::bigint AS released, sum((c.s).charge)::bigint AS charged,
           count(*) FILTER (WHERE (c.s).charge > 0) AS entries
      FROM closed c GROUP BY 1),
  moved AS (
    UPDATE balances b
       SET posted = b.posted - t.charged, used = b.used + t.charged, held = b.held - t.released,
           seq = b.seq + t.entries, last_at = greatest(b.last_at, settled_at)
      FROM account_sums t WHERE b.account_id = t.account_id
    RETURNING b.account_id, b.posted, b.seq, b.last_at, t.charged, t.entries),
  key_moved AS (
    UPDATE api_keys k
       SET held = k.held - t.released, spent = k.spent + t.charged, last_used_at = greatest(k.last_used_at, settled_at),
           spent_before = budget_base(k, t.at),
           counted_from = greatest(k.counted_from, budget_start(k.limit_reset, t.at))
      FROM (SELECT c.api_key_id, sum(c.amount)::bigint AS released, sum((c.s).charge)::bigint AS charged,
                   max(m.last_at) AS at
              FROM closed c JOIN moved m USING (account_id) GROUP BY 1) t
     WHERE k.id = t.api_key_id),
  recorded AS (
    INSERT INTO generations (id, account_id, api_key_id, request_id, endpoint, model, status, error_code, error_message,
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, usage_source,
        price_version, hold_amount, charge, lines, shortfall, provider, provider_cost, attempts, finish_reason,
        streamed, latency_ms, first_token_ms, metering, created_at, completed_at)
      SELECT c.id, c.account_id, c.api_key_id, c.request_id, c.endpoint, c.model, (c.s).status, (c.s).error_code,
             (c.s).error_message, (c.s).input_tokens, (c.s).output_tokens, (c.s).cache_read_tokens,
             (c.s).cache_write_tokens, (c.s).reasoning_tokens, (c.s).usage_source, c.price_version, c.amount,
             (c.s).charge, (c.s).lines,
             coalesce((c.s).shortfall, 0) + coalesce((c.s).beyond_max_cost, 0) + coalesce((c.s).waived, 0),
             (c.s).provider, (c.s).provider_cost, (c.s).attempts, (c.s).finish_reason, (c.s).streamed, (c.s).latency_ms,
             (c.s).first_token_ms, (c.s).metering, c.created_at, m.last_at
        FROM closed c JOIN moved m USING (account_id)),
  posted AS (
    INSERT INTO ledger_entries (account_id, seq, type, amount, balance_after, contra, reference, api_key_id, at)
      SELECT c.account_id, m.seq - m.entries + row_number() OVER w, 'usage_charge', -(c.s).charge,
             m.posted + m.charged - (sum((c.s).charge) OVER w)::bigint, 'revenue', c.id, c.api_key_id, m.last_at
        FROM closed c JOIN moved m USING (account_id)
       WHERE (c.s).charge > 0
      WINDOW w AS (PARTITION BY c.account_id ORDER BY c.id)),
  rolled AS (
    INSERT INTO usage_rollups AS u
      SELECT c.account_id, date_bin('5 minutes', m.last_at, 'epoch'::timestamptz), c.api_key_id, c.endpoint, c.model,
             count(*), sum((c.s).input_tokens), sum((c.s).output_tokens), sum((c.s).cache_read_tokens),
             sum((c.s).cache_write_tokens), sum((c.s).reasoning_tokens), sum((c.s).charge),
             sum(coalesce(((c.s).lines->>'input')::bigint, 0)), sum(coalesce(((c.s).lines->>'output')::bigint, 0)),
             sum(coalesce(((c.s).lines->>'cache_read')::bigint, 0)),
             sum(coalesce(((c.s).lines->>'cache_write')::bigint, 0)),
             sum(coalesce(((c.s).lines->>'reasoning')::bigint, 0)),
             sum(coalesce(((c.s).lines->>'request')::bigint, 0)),
             sum(coalesce(((c.s).lines->>'image')::bigint, 0)), sum(coalesce(((c.s).lines->>'video')::bigint, 0))
        FROM closed c JOIN moved m USING (account_id)
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
        charge_video = u.charge_video + excluded.charge_video),
  lost AS (
    INSERT INTO write_offs (generation_id, account_id, reason, amount)
      SELECT c.id, c.account_id, w.reason, w.amount FROM closed c
       CROSS JOIN LATERAL (VALUES ('above_hold', (c.s).shortfall), ('above_max_cost', (c.s).beyond_max_cost),
         ('provider_failure', (c.s).waived)) w (reason, amount)
       WHERE w.amount > 0)
  SELECT c.id, 'settled', (c.s).charge FROM closed c;

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

-- Ends the tasks whose fence and state still fit; returns their ids.
CREATE OR REPLACE FUNCTION ledger_end_tasks(settlements hold_settlement[], settled_at timestamptz) RETURNS uuid[]
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  ended uuid[];
BEGIN
  WITH ending AS (
    UPDATE tasks t SET
      state = CASE s.status WHEN 'completed' THEN 'succeeded' WHEN 'failed' THEN 'failed' ELSE 'canceled' END,
      progress = CASE s.status WHEN 'completed' THEN 1 ELSE t.progress END,
      error_code = s.error_code, error_message = s.error_message,
      parameters = CASE WHEN (s.task->>'keep_parameters')::boolean THEN t.parameters END,
      worker = NULL, lease_until = NULL, completed_at = settled_at,
      media_expires_at = settled_at + CASE WHEN jsonb_array_length(s.task->'outputs') > 0
        THEN (s.task->>'media_ttl_ms')::bigint END * interval '1 ms'
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
  SELECT coalesce(array_agg(e.id), '{}') INTO ended FROM ending e;
  IF cardinality(ended) > 0 THEN
    PERFORM pg_notify('tollgate_task_ended', id::text) FROM unnest(ended) id;
  END IF;
  RETURN ended;
END $$;

-- Planned once per connection, for batches of few items: see ledger_reserve_few.
CREATE OR REPLACE FUNCTION ledger_settle_few(batch jsonb) RETURNS TABLE (id uuid, outcome text, charge bigint)
LANGUAGE sql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS
$$ SELECT s.id, s.outcome, s.charge FROM ledger_settle(batch) s $$;
