-- Adds write-offs older than an hour to their totals. Returns how many reasons have one. An hour, because a settlement dates
-- its rows before it commits, and no settlement takes that long.
CREATE OR REPLACE FUNCTION total_write_offs() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  summed_until timestamptz;
  sums_until timestamptz := clock_timestamp() - interval '1 hour';
  reasons integer;
BEGIN
  -- two workers must not add the same rows
  PERFORM pg_advisory_xact_lock(hashtextextended('write_off_totals', 0));
  SELECT max(t.until) INTO summed_until FROM write_off_totals t;
  -- nor must a clock that was set back add them again
  sums_until := greatest(sums_until, summed_until);
  UPDATE write_off_totals t SET until = sums_until;
  INSERT INTO write_off_totals AS t (reason, amount, until)
    SELECT w.reason, sum(w.amount), sums_until FROM write_offs w
     WHERE w.at >= coalesce(summed_until, '-infinity') AND w.at < sums_until GROUP BY w.reason
    ON CONFLICT (reason) DO UPDATE SET amount = t.amount + excluded.amount;
  SELECT count(*) INTO reasons FROM write_off_totals;
  RETURN reasons;
END $$;
