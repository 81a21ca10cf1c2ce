-- Closes every month of an account that is over and not closed yet, in order. Returns how many.
CREATE OR REPLACE FUNCTION close_months(account uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  previous invoices;
  month_start timestamptz;
  month_end timestamptz;
  closed integer := 0;
BEGIN
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  LOOP
    SELECT * INTO previous FROM invoices i WHERE i.account_id = account ORDER BY i.period_start DESC LIMIT 1;
    SELECT coalesce(previous.period_end, date_trunc('month', a.created_at, 'UTC')) INTO month_start
      FROM accounts a WHERE a.id = account;
    month_end := (month_start AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
    EXIT WHEN month_end > ledger_now();
    INSERT INTO invoices (id, account_id, period_start, period_end, status, opening, purchases, usage, refunds,
                          adjustments, closing, opening_seq, closing_seq, created_at)
      SELECT gen_random_uuid(), account, month_start, month_end, 'open', coalesce(previous.closing, 0),
             coalesce(sum(e.amount) FILTER (WHERE e.type = 'credit_purchase'), 0),
             coalesce(-sum(e.amount) FILTER (WHERE e.type = 'usage_charge'), 0),
             coalesce(sum(e.amount) FILTER (WHERE e.type = 'refund'), 0),
             coalesce(sum(e.amount) FILTER (WHERE e.type = 'adjustment'), 0),
             coalesce(previous.closing, 0) + coalesce(sum(e.amount), 0),
             coalesce(previous.closing_seq, 0), coalesce(max(e.seq), previous.closing_seq, 0), ledger_now()
        FROM ledger_entries e
       WHERE e.account_id = account AND e.at >= month_start AND e.at < month_end;
    closed := closed + 1;
  END LOOP;
  RETURN closed;
END $$;
