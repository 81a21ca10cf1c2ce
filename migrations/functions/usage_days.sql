-- Makes every day of an account before today final. Short, because it holds the account's lock, for which settlements wait.
CREATE OR REPLACE FUNCTION finish_usage_days(account uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  today timestamptz;
  first_day timestamptz;
  is_new boolean;
BEGIN
  -- filling days holds the mark for longer, so this waits for the mark before it takes the account's lock, not under it
  PERFORM 1 FROM usage_day_marks m WHERE m.account_id = account FOR UPDATE;
  is_new := NOT FOUND;
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF is_new THEN
    SELECT min(u.bucket) INTO first_day FROM usage_rollups u WHERE u.account_id = account;
  END IF;
  -- read after the lock: a settlement that the lock waited for has committed, and a later one gets a later time
  today := date_bin('1 day', ledger_now(), 'epoch'::timestamptz);
  -- and that time stays later even if the clock is set back
  UPDATE balances b SET last_at = today WHERE b.account_id = account AND b.last_at < today;
  first_day := least(today, date_bin('1 day', first_day, 'epoch'::timestamptz));
  INSERT INTO usage_day_marks AS m (account_id, totals_until, filled_until, final_until)
    VALUES (account, first_day, first_day, today)
    ON CONFLICT (account_id) DO UPDATE SET final_until = greatest(m.final_until, excluded.final_until);
END $$;

-- Fills the totals of an account's hours, for up to day_count of the days between the two times. Returns how many. Its caller holds the
-- mark; from_time and until_time are its totals_until and filled_until.
CREATE OR REPLACE FUNCTION fill_hour_totals(account uuid, from_time timestamptz, until_time timestamptz, day_count integer) RETURNS integer
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  next_from timestamptz := from_time;
  next_until timestamptz;
BEGIN
  -- a mark older than the totals: they begin with the first hour
  IF next_from = '-infinity' THEN
    SELECT min(u.hour) INTO next_from FROM usage_hours u WHERE u.account_id = account;
    next_from := least(until_time, date_bin('1 day', next_from, 'epoch'::timestamptz));
  END IF;
  next_until := least(until_time, next_from + day_count * interval '24 hours');
  INSERT INTO usage_hour_totals
    SELECT u.account_id, u.hour, sum(u.charge_input), sum(u.charge_output), sum(u.charge_cache_read), sum(u.charge_cache_write),
           sum(u.charge_reasoning), sum(u.charge_request), sum(u.charge_image), sum(u.charge_video)
      FROM usage_hours u
     WHERE u.account_id = account AND u.hour >= next_from AND u.hour < next_until
     GROUP BY 1, 2 ORDER BY 1, 2;
  UPDATE usage_day_marks m SET totals_until = next_until WHERE m.account_id = account;
  RETURN extract(epoch FROM next_until - next_from)::bigint / 86400;
END $$;

-- Fills up to day_count final days of an account, oldest first. Returns how many. Skips an account that another worker is filling.
CREATE OR REPLACE FUNCTION fill_usage_days(account uuid, day_count integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  mark usage_day_marks;
  next_until timestamptz;
BEGIN
  SELECT * INTO mark FROM usage_day_marks m WHERE m.account_id = account FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  IF mark.totals_until < mark.filled_until THEN
    RETURN fill_hour_totals(account, mark.totals_until, mark.filled_until, day_count);
  END IF;
  IF mark.filled_until = mark.final_until THEN
    RETURN 0;
  END IF;
  next_until := least(mark.final_until, mark.filled_until + day_count * interval '24 hours');
  INSERT INTO usage_hours
    SELECT u.account_id, date_bin('1 hour', u.bucket, 'epoch'::timestamptz), u.api_key_id, u.endpoint, u.model,
           sum(u.requests), sum(u.input_tokens), sum(u.output_tokens), sum(u.cache_read_tokens),
           sum(u.cache_write_tokens), sum(u.reasoning_tokens), sum(u.charge), sum(u.charge_input),
           sum(u.charge_output), sum(u.charge_cache_read), sum(u.charge_cache_write), sum(u.charge_reasoning),
           sum(u.charge_request), sum(u.charge_image), sum(u.charge_video)
      FROM usage_rollups u
     WHERE u.account_id = account AND u.bucket >= mark.filled_until AND u.bucket < next_until
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5;
  INSERT INTO usage_days
    SELECT u.account_id, date_bin('1 day', u.hour, 'epoch'::timestamptz), u.api_key_id, u.endpoint, u.model,
           sum(u.requests), sum(u.input_tokens), sum(u.output_tokens), sum(u.cache_read_tokens),
           sum(u.cache_write_tokens), sum(u.reasoning_tokens), sum(u.charge), sum(u.charge_input),
           sum(u.charge_output), sum(u.charge_cache_read), sum(u.charge_cache_write), sum(u.charge_reasoning),
           sum(u.charge_request), sum(u.charge_image), sum(u.charge_video)
      FROM usage_hours u
     WHERE u.account_id = account AND u.hour >= mark.filled_until AND u.hour < next_until
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5;
  UPDATE usage_day_marks m SET filled_until = next_until WHERE m.account_id = account;
  RETURN fill_hour_totals(account, mark.filled_until, next_until, day_count);
END $$;
