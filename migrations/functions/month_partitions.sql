-- Creates the three partitions of a month unless they exist or their default partition already has rows of that month. Returns how many.
CREATE OR REPLACE FUNCTION create_month_partitions(month date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  month_start timestamptz := date_trunc('month', month::timestamp) AT TIME ZONE 'UTC';
  month_end timestamptz := (date_trunc('month', month::timestamp) + interval '1 month') AT TIME ZONE 'UTC';
  suffix text := to_char(month, 'YYYYMM');
  made integer := 0;
  partition record;
BEGIN
  FOR partition IN
    SELECT * FROM (VALUES
      ('generations', quote_literal(id_floor(month_start)), quote_literal(id_floor(month_end)), 'id'),
      ('ledger_entries', quote_literal(id_floor(month_start)), quote_literal(id_floor(month_end)), 'reference'),
      ('usage_rollups', quote_literal(month_start), quote_literal(month_end), 'bucket')
    ) v (parent, lower_bound, upper_bound, key)
  LOOP
    IF to_regclass(partition.parent || '_' || suffix) IS NULL THEN
      BEGIN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)',
          partition.parent || '_' || suffix, partition.parent, partition.lower_bound, partition.upper_bound);
        made := made + 1;
      EXCEPTION WHEN check_violation THEN
        -- the default partition has rows of that month: they stay there, nothing is lost
        RAISE NOTICE 'partition % of % skipped: rows in the default partition', suffix, partition.parent;
      END;
    END IF;
  END LOOP;
  RETURN made;
END $$;
