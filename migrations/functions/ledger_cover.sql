-- Returns the lines of a charge of `whole` scaled down to `part`: rounded down first, then one more for the largest remainders.
CREATE OR REPLACE FUNCTION ledger_shrink_lines(lines jsonb, whole bigint, part bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT coalesce(jsonb_object_agg(item, (share + CASE WHEN place <= part - total THEN 1 ELSE 0 END)::text), '{}')
    FROM (SELECT item, share, sum(share) OVER () AS total, row_number() OVER (ORDER BY remainder DESC, item) AS place
            FROM (SELECT key AS item, div(value::numeric * part, whole) AS share, mod(value::numeric * part, whole) AS remainder
                    FROM jsonb_each_text(lines)) shares) placed
   WHERE part > 0
$$;

-- Without the time of the settlement, the first version could cover a call from a period other than the charged one. The second
-- took only ids and read the holds again.
DROP FUNCTION IF EXISTS ledger_cover(hold_settlement[], uuid[]);
DROP FUNCTION IF EXISTS ledger_cover(hold_settlement[], uuid[], timestamptz);

-- Returns the settlements as they must be written, including those that cost more than their hold or are free within an allowance. Runs
-- under the locks of ledger_settle. What a call used beyond its hold is taken from what is free on the account and the key, never
-- from what other calls hold; only the rest is written off. A provider's failure in the middle of an answer is waived up to
-- the account's hourly allowance.
CREATE OR REPLACE FUNCTION ledger_cover(settlements hold_settlement[], closed holds[], settled_at timestamptz)
RETURNS hold_settlement[] LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  covered hold_settlement[] := '{}';
  candidate record;
  item hold_settlement;
  current_account uuid;
  account_free bigint;
  -- by key id; keys without a limit are absent
  keys_free jsonb := '{}';
  key_free bigint;
  beyond bigint;
  taken bigint;
  waived bigint;
BEGIN
  FOR candidate IN
    SELECT s AS settlement, h.amount, b.posted - b.held AS account_free,
           limit_free(k.limit_nano, k.held, k.limit_reset, k.counted_from, k.spent, k.spent_before, greatest(b.last_at, settled_at)) AS key_free
      FROM unnest(settlements) s
      LEFT JOIN unnest(closed) h ON h.id = s.id
      LEFT JOIN balances b ON b.account_id = s.account_id
      LEFT JOIN api_keys k ON k.id = s.api_key_id
     ORDER BY s.account_id, s.id
  LOOP
    item := candidate.settlement;
    IF candidate.amount IS NOT NULL THEN
      IF current_account IS DISTINCT FROM item.account_id THEN
        current_account := item.account_id;
        account_free := candidate.account_free;
        waived := NULL;
      END IF;
      IF item.waiver_max IS NOT NULL AND item.charge > 0 THEN
        IF waived IS NULL THEN
          SELECT coalesce(sum(w.amount), 0) INTO waived FROM write_offs w
           WHERE w.account_id = current_account AND w.reason = 'provider_failure'
             AND w.at > statement_timestamp() - interval '1 hour';
        END IF;
        IF waived + item.charge <= item.waiver_max THEN
          waived := waived + item.charge;
          item.waived := item.charge;
          item.charge := 0;
          item.lines := '{}';
        END IF;
      END IF;
      beyond := item.charge - candidate.amount;
      key_free := coalesce((keys_free->>item.api_key_id::text)::bigint, candidate.key_free);
      taken := CASE WHEN beyond > 0 THEN greatest(least(beyond, account_free, key_free), 0) ELSE beyond END;
      IF taken < beyond THEN
        item.lines := ledger_shrink_lines(item.lines, item.charge, candidate.amount + taken);
        item.charge := candidate.amount + taken;
        item.shortfall := coalesce(item.shortfall, 0) + beyond - taken;
      END IF;
      -- what a hold did not need is free for the next one in the batch
      account_free := account_free - taken;
      IF key_free IS NOT NULL THEN
        keys_free := keys_free || jsonb_build_object(item.api_key_id, key_free - taken);
      END IF;
    END IF;
    covered := covered || item;
  END LOOP;
  RETURN covered;
END $$;
