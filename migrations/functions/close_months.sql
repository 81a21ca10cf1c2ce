-- Closes every month of an account that is over and not yet closed, in order. Returns how many.
CREATE OR REPLACE FUNCTION close_months(account uuid) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  previous invoices;
  month_start timestamptz;
  closed integer := 0;
BEGIN
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  LOOP
    SELECT * INTO previous FROM invoices i WHERE i.account_id = account AND i.status <> 'void'
      ORDER BY i.period_start DESC LIMIT 1;
    SELECT coalesce(previous.period_end, date_trunc('month', a.created_at, 'UTC')) INTO month_start
      FROM accounts a WHERE a.id = account;
    EXIT WHEN statement_end(month_start) > ledger_now();
    PERFORM state_month(account, month_start, previous, 1, NULL, NULL);
    closed := closed + 1;
  END LOOP;
  RETURN closed;
END $$;

-- Returns the first instant after the month that begins at month_start.
CREATE OR REPLACE FUNCTION statement_end(month_start timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
  SELECT (month_start AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC'
$$;

-- Writes the statement of a month. The caller holds the lock of the account's balance, for which calls wait. Usage is therefore computed as
-- what the other movements leave over, without reading the many entries of calls. The proof of the statement reads them, without the lock.
CREATE OR REPLACE FUNCTION state_month(account uuid, month_start timestamptz, previous invoices, next_version integer,
  why text, by_whom text) RETURNS invoices
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  month_end timestamptz := statement_end(month_start);
  opening bigint := coalesce(previous.closing, 0);
  last ledger_entries;
  stated invoices;
BEGIN
  PERFORM seal_account(account);
  SELECT * INTO last FROM ledger_entries e
    WHERE e.account_id = account AND e.at >= month_start AND e.at < month_end ORDER BY e.at DESC, e.seq DESC LIMIT 1;
  INSERT INTO invoices (id, account_id, period_start, period_end, status, opening, purchases, usage, refunds,
                        adjustments, closing, opening_seq, closing_seq, created_at, version, reissue_reason, reissued_by,
                        digest)
    SELECT owned_id(account, month_start), account, month_start, month_end, 'open', opening, o.purchases,
           opening + o.purchases + o.refunds + o.adjustments - coalesce(last.balance_after, opening), o.refunds, o.adjustments,
           coalesce(last.balance_after, opening), coalesce(previous.closing_seq, 0),
           coalesce(last.seq, previous.closing_seq, 0), ledger_now(), next_version, why, by_whom,
           (SELECT s.digest FROM ledger_seals s WHERE s.account_id = account
               AND s.seq = coalesce(last.seq, previous.closing_seq))
      FROM (SELECT coalesce(sum(e.amount) FILTER (WHERE e.type = 'credit_purchase'), 0) AS purchases,
                   coalesce(sum(e.amount) FILTER (WHERE e.type = 'refund'), 0) AS refunds,
                   coalesce(sum(e.amount) FILTER (WHERE e.type = 'adjustment'), 0) AS adjustments
              FROM ledger_entries e
             WHERE e.account_id = account AND e.type <> 'usage_charge' AND e.at >= month_start AND e.at < month_end) o
    RETURNING * INTO stated;
  -- from now on no entry can be dated into the month, even if the clock is set back
  UPDATE balances b SET last_at = month_end WHERE b.account_id = account AND b.last_at < month_end;
  RETURN stated;
END $$;

-- Reissues the statement of a closed month: the old one becomes void, as does each later one that no longer follows. Returns how many
-- statements were made; 0 when the month is not closed. act: see record_act.
CREATE OR REPLACE FUNCTION reissue_statements(account uuid, first_month timestamptz, why text, act jsonb) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  previous invoices;
  stale invoices;
  stated invoices;
  made integer := 0;
BEGIN
  PERFORM 1 FROM balances b WHERE b.account_id = account FOR NO KEY UPDATE;
  SELECT * INTO previous FROM invoices i WHERE i.account_id = account AND i.status <> 'void' AND i.period_end = first_month;
  FOR stale IN SELECT * FROM invoices i WHERE i.account_id = account AND i.status <> 'void'
    AND i.period_start >= first_month ORDER BY i.period_start
  LOOP
    EXIT WHEN made = 0 AND stale.period_start <> first_month;
    EXIT WHEN made > 0 AND (stale.opening, stale.opening_seq) = (previous.closing, previous.closing_seq);
    UPDATE invoices i SET status = 'void' WHERE i.id = stale.id;
    previous := state_month(account, stale.period_start, previous, stale.version + 1, why, act->>'actor');
    made := made + 1;
  END LOOP;
  IF made > 0 THEN
    PERFORM record_act(act, jsonb_build_object('statements', made));
  END IF;
  RETURN made;
END $$;
