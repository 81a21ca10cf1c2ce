-- Queues the alerts that accounts asked for: credits fell below an amount, or a key used up a share of its limit. Looks at up to `most`
-- accounts with entries it has not looked at yet. Returns how many those were. Calls are not affected: balances are read, not locked.
CREATE OR REPLACE FUNCTION tell_alerts(most integer) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  due uuid[];
  looked_at timestamptz;
BEGIN
  SELECT coalesce(array_agg(d.account_id), '{}') INTO due FROM (
    SELECT a.account_id FROM account_alerts a JOIN balances b USING (account_id)
     WHERE a.url IS NOT NULL AND b.seq > a.seen_seq
     ORDER BY a.account_id LIMIT most FOR UPDATE OF a SKIP LOCKED) d;
  -- balances are read in a separate statement after the lock, so that a change of `credits_told` by ledger_append is seen with its cause
  looked_at := ledger_now();
  WITH looked AS (
    SELECT a.*, b.posted, b.seq FROM account_alerts a JOIN balances b USING (account_id) WHERE a.account_id = ANY (due)),
  seen AS (
    UPDATE account_alerts a SET seen_seq = l.seq, credits_told = coalesce(l.posted < l.credits_low, false)
      FROM looked l WHERE a.account_id = l.account_id),
  low AS (
    INSERT INTO webhook_deliveries (id, account_id, url, event, facts)
      SELECT owned_id(l.account_id, looked_at), l.account_id, l.url, 'credits.low',
             jsonb_build_object('remaining', l.posted::text, 'threshold', l.credits_low::text, 'at', looked_at)
        FROM looked l WHERE l.posted < l.credits_low AND NOT l.credits_told),
  counted AS (
    SELECT l.account_id, l.url, l.key_limit_near AS share, k.id, k.hash, k.name, k.limit_nano, k.limit_reset,
           greatest(k.counted_from, budget_start(k.limit_reset, looked_at)) AS counted_from,
           k.spent - limit_base(k.limit_reset, k.counted_from, k.spent, k.spent_before, looked_at) AS used
      FROM looked l JOIN api_keys k USING (account_id)
     WHERE l.key_limit_near IS NOT NULL AND k.deleted_at IS NULL AND k.limit_nano > 0),
  judged AS (SELECT c.*, c.used::numeric * 100 >= c.limit_nano::numeric * c.share AS near FROM counted c),
  above_again AS (DELETE FROM key_alerts t USING judged j WHERE t.api_key_id = j.id AND NOT j.near),
  noted AS (
    INSERT INTO key_alerts AS t (api_key_id, account_id, limit_nano, share, counted_from)
      SELECT j.id, j.account_id, j.limit_nano, j.share, j.counted_from FROM judged j WHERE j.near
      ON CONFLICT (api_key_id) DO UPDATE
        SET limit_nano = excluded.limit_nano, share = excluded.share, counted_from = excluded.counted_from
        WHERE (t.limit_nano, t.share, t.counted_from) IS DISTINCT FROM (excluded.limit_nano, excluded.share, excluded.counted_from)
      RETURNING t.api_key_id)
  INSERT INTO webhook_deliveries (id, account_id, url, event, facts)
    SELECT owned_id(j.account_id, looked_at), j.account_id, j.url, 'key.limit_near',
           jsonb_build_object('hash', j.hash, 'name', j.name, 'limit', j.limit_nano::text, 'used', j.used::text,
                              'limit_reset', j.limit_reset, 'share', j.share, 'at', looked_at)
      FROM judged j JOIN noted n ON n.api_key_id = j.id;
  RETURN cardinality(due);
END $$;
