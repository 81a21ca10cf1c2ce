-- Returns whether a call is only in an archive file. The database then has only its entry.
CREATE OR REPLACE FUNCTION call_is_archived(call uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT EXISTS (SELECT 1 FROM call_archives a
    WHERE a.dropped_at IS NOT NULL AND call >= id_floor(a.month_start) AND call < id_floor(a.month_end))
$$;

-- Returns why the calls of a month must stay in the database; no row when they may be archived.
CREATE OR REPLACE FUNCTION calls_needed(month timestamptz) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT 'the month ended less than a month ago, and its calls may still be looked up' WHERE statement_end(statement_end(month)) > ledger_now()
  UNION ALL
  SELECT count(*) || ' accounts have no final, sealed statement of the month with its document'
    FROM accounts a WHERE a.created_at < statement_end(month) AND NOT EXISTS
      (SELECT 1 FROM invoices i JOIN documents d ON d.id = i.id
        WHERE i.account_id = a.id AND i.period_start = month AND i.status IN ('paid', 'uncollectible')
          AND (i.digest IS NOT NULL OR i.closing_seq = 0))
  HAVING count(*) > 0
  UNION ALL
  SELECT count(*) || ' tasks of the month are still stored'
    FROM tasks t WHERE t.id >= id_floor(month) AND t.id < id_floor(statement_end(month))
  HAVING count(*) > 0
$$;

-- Creates an empty table for the calls of a month. swap_calls() replaces the current table with it.
CREATE OR REPLACE FUNCTION make_next_calls(month timestamptz) RETURNS text
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  partition text := 'generations_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM');
BEGIN
  EXECUTE format('DROP TABLE IF EXISTS %I', partition || '_next');
  -- with this check, attaching need not scan every row while calls wait
  EXECUTE format('CREATE TABLE %I (LIKE generations INCLUDING ALL, CONSTRAINT calls_of_the_month CHECK (id >= %L AND id < %L))',
    partition || '_next', id_floor(month), id_floor(statement_end(month)));
  RETURN partition;
END $$;

-- Replaces the calls of a month with the next table. The previous table becomes
-- generations_YYYYMM_before. Short, because calls wait for it.
CREATE OR REPLACE FUNCTION swap_calls(month timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  partition text := 'generations_' || to_char(month AT TIME ZONE 'UTC', 'YYYYMM');
BEGIN
  EXECUTE format('ALTER TABLE generations DETACH PARTITION %I', partition);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', partition, partition || '_before');
  EXECUTE format('ALTER TABLE %I RENAME TO %I', partition || '_next', partition);
  EXECUTE format('ALTER TABLE generations ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
    partition, id_floor(month), id_floor(statement_end(month)));
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT calls_of_the_month', partition);
END $$;
