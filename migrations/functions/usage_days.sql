-- Makes every hour of an account before the current one final; of an account without entries since, only the day that ended with them.
-- Short, because it holds the account's lock, for which settlements wait.
CREATE OR REPLACE FUNCTION finish_usage_days(account uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  mark usage_day_marks;
  last_entry timestamptz;
  until_time timestamptz;
  first_day timestamptz;
BEGIN
  -- filling hours holds the mark for longer, so this waits for the mark before it takes the account's lock, not under it
  INSERT INTO usage_day_marks (account_id, filled_until, final_until)
    SELECT b.account_id, '-infinity', '-infinity' FROM balances b WHERE b.account_id = account ON CONFLICT DO NOTHING;
  SELECT * INTO mark FROM usage_day_marks m WHERE m.account_id = account FOR UPDATE;
  SELECT b.last_at INTO last_entry FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- read after the lock: a settlement that the lock waited for has committed, and a later one gets a later time
  until_time := date_bin(CASE WHEN last_entry > mark.final_until THEN interval '1 hour' ELSE interval '1 day' END,
    ledger_now(), 'epoch'::timestamptz);
  -- and that time stays later even if the clock is set back
  UPDATE balances b SET last_at = until_time WHERE b.account_id = account AND b.last_at < until_time;
  IF mark.final_until = '-infinity' THEN
    SELECT min(u.bucket) INTO first_day FROM usage_rollups u WHERE u.account_id = account;
    mark.filled_until := least(until_time, date_bin('1 day', first_day, 'epoch'::timestamptz));
    mark.totals_until := mark.filled_until;
  END IF;
  UPDATE usage_day_marks m
    SET totals_until = mark.totals_until, filled_until = mark.filled_until, final_until = greatest(mark.final_until, until_time)
    WHERE m.account_id = account;
END $$;

-- Fills the totals of an account's hours from from_time to until_time, for day_count days at most. Returns the number of hours. Its
-- caller holds the mark, of which the two times are totals_until and filled_until.
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
  RETURN extract(epoch FROM next_until - next_from)::bigint / 3600;
END $$;

-- Fills the final hours of an account for day_count days at most, oldest first, their totals, and the days that are over with them. Returns
-- the number of hours, 0 when none is left. Skips an account that another worker is filling.
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
     WHERE u.account_id = account AND u.hour >= date_bin('1 day', mark.filled_until, 'epoch'::timestamptz)
       AND u.hour < date_bin('1 day', next_until, 'epoch'::timestamptz)
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5;
  UPDATE usage_day_marks m SET filled_until = next_until WHERE m.account_id = account;
  RETURN fill_hour_totals(account, mark.filled_until, next_until, day_count);
END $$;
