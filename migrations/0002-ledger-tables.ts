import type { Migration } from './migration.types.ts';

/**
 * Holds, generations, ledger and roll-ups. No foreign keys here: each would cost a lock and a probe per row on the
 * hot path, and the functions of 0004 to 0007 are the only writers and check the same facts under the account's lock.
 *
 * Generations and ledger entries are partitioned by their id, which is time-ordered (a ULID's bits): the unique rules
 * "one generation per id" and "one entry per (type, reference)" then hold over all partitions, which a partition by
 * date could not promise.
 */
export const ledgerTables: Migration = {
  name: '0002-ledger-tables',
  up: `
    -- Only open holds. Closing one deletes it and writes its generation in the same statement, so the table stays small
    -- and "settled twice" is impossible: there is nothing left to settle.
    CREATE TABLE holds (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL,
      api_key_id uuid NOT NULL,
      request_id text NOT NULL,
      endpoint text NOT NULL,
      model text NOT NULL,
      price_version text NOT NULL,
      is_task boolean NOT NULL,
      amount bigint NOT NULL CHECK (amount >= 0),
      -- {charge, lines, usage} so far, as of the last renewal: what a reaper settles if the process is gone
      metered jsonb,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
    CREATE INDEX holds_expiry ON holds (expires_at) WHERE NOT is_task;
    CREATE INDEX holds_account ON holds (account_id);

    CREATE TYPE generation_status AS ENUM ('completed', 'failed', 'cancelled');
    CREATE TYPE usage_source AS ENUM ('provider', 'counted', 'none');

    CREATE TABLE generations (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL,
      api_key_id uuid NOT NULL,
      request_id text NOT NULL,
      endpoint text NOT NULL,
      model text NOT NULL,
      status generation_status NOT NULL,
      error_code text,
      error_message text,
      input_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      cache_read_tokens bigint NOT NULL,
      cache_write_tokens bigint NOT NULL,
      reasoning_tokens bigint NOT NULL,
      usage_source usage_source NOT NULL,
      price_version text NOT NULL,
      hold_amount bigint NOT NULL,
      charge bigint NOT NULL CHECK (charge >= 0),
      -- nano-USD by line item; the values sum to charge
      lines jsonb NOT NULL,
      shortfall bigint NOT NULL CHECK (shortfall >= 0),
      provider text,
      provider_cost bigint,
      attempts jsonb NOT NULL,
      finish_reason text,
      streamed boolean NOT NULL,
      latency_ms integer NOT NULL,
      first_token_ms integer,
      created_at timestamptz NOT NULL,
      completed_at timestamptz NOT NULL,
      CONSTRAINT generations_charge_within_hold CHECK (charge <= hold_amount)
    ) PARTITION BY RANGE (id);
    CREATE INDEX generations_account ON generations (account_id, id DESC);
    CREATE INDEX generations_request ON generations (account_id, request_id);

    CREATE TYPE ledger_entry_type AS ENUM ('credit_purchase', 'usage_charge', 'refund', 'adjustment');
    -- the other side of the pair; its balance is a sum, never a stored hot row
    CREATE TYPE ledger_contra AS ENUM ('cash_clearing', 'revenue', 'write_off', 'operator');

    -- One row = one balanced pair: the customer's account against the contra account.
    CREATE TABLE ledger_entries (
      account_id uuid NOT NULL,
      seq bigint NOT NULL CHECK (seq > 0),
      type ledger_entry_type NOT NULL,
      -- signed from the balance's point of view
      amount bigint NOT NULL CHECK (amount <> 0),
      balance_after bigint NOT NULL,
      contra ledger_contra NOT NULL,
      -- what the entry stands for: a generation, a checkout session, a refund, an adjustment
      reference uuid NOT NULL,
      -- the reference of the entry that a refund takes back
      reverses uuid,
      api_key_id uuid,
      description text,
      at timestamptz NOT NULL,
      CONSTRAINT ledger_entries_reference_unique PRIMARY KEY (reference, type)
    ) PARTITION BY RANGE (reference);
    -- at and seq rise together within an account, so one index serves time ranges and keyset pages
    CREATE INDEX ledger_entries_account ON ledger_entries (account_id, at DESC, seq DESC);
    CREATE INDEX ledger_entries_other ON ledger_entries (account_id, type, at DESC, seq DESC) WHERE type <> 'usage_charge';
    CREATE INDEX ledger_entries_key ON ledger_entries (api_key_id, at DESC, seq DESC) WHERE api_key_id IS NOT NULL;
    CREATE INDEX ledger_entries_reverses ON ledger_entries (reverses) WHERE reverses IS NOT NULL;

    CREATE TABLE usage_rollups (
      account_id uuid NOT NULL,
      -- start of the five minutes, UTC
      bucket timestamptz NOT NULL,
      api_key_id uuid NOT NULL,
      endpoint text NOT NULL,
      model text NOT NULL,
      requests bigint NOT NULL,
      input_tokens bigint NOT NULL,
      output_tokens bigint NOT NULL,
      cache_read_tokens bigint NOT NULL,
      cache_write_tokens bigint NOT NULL,
      reasoning_tokens bigint NOT NULL,
      charge bigint NOT NULL,
      charge_input bigint NOT NULL,
      charge_output bigint NOT NULL,
      charge_cache_read bigint NOT NULL,
      charge_cache_write bigint NOT NULL,
      charge_reasoning bigint NOT NULL,
      charge_request bigint NOT NULL,
      charge_image bigint NOT NULL,
      charge_video bigint NOT NULL,
      CONSTRAINT usage_rollups_lines_sum CHECK (charge = charge_input + charge_output + charge_cache_read
        + charge_cache_write + charge_reasoning + charge_request + charge_image + charge_video),
      PRIMARY KEY (account_id, bucket, api_key_id, endpoint, model)
    ) PARTITION BY RANGE (bucket);

    -- Cost beyond a hold and charges that came after a hold had expired: our loss, kept where an operator can see it.
    CREATE TABLE write_offs (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      generation_id uuid NOT NULL,
      account_id uuid NOT NULL,
      reason text NOT NULL CHECK (reason IN ('above_hold', 'late_settlement')),
      amount bigint NOT NULL CHECK (amount > 0),
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- a settlement that is sent again writes off nothing again
      CONSTRAINT write_offs_once UNIQUE (generation_id, reason)
    );

    -- Monthly partitions of generations, ledger_entries and usage_rollups, made ahead of time by maintenance. The default
    -- partitions are the net below it: nothing is refused when maintenance did not run.
    CREATE TABLE generations_default PARTITION OF generations DEFAULT;
    CREATE TABLE ledger_entries_default PARTITION OF ledger_entries DEFAULT;
    CREATE TABLE usage_rollups_default PARTITION OF usage_rollups DEFAULT;

    -- The smallest time-ordered id of an instant.
    CREATE FUNCTION id_floor(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

    -- Makes the three partitions of a month unless they exist or their default partition already holds rows of it.
    CREATE FUNCTION create_month_partitions(month date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
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
            -- the default partition holds rows of that month: they stay where they are, nothing is lost
            RAISE NOTICE 'partition % of % skipped: rows in the default partition', suffix, partition.parent;
          END;
        END IF;
      END LOOP;
      RETURN made;
    END $$;

    SELECT create_month_partitions((date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => n))::date)
      FROM generate_series(0, 2) n;

    CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% on % refused: the table is append-only', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TG001';
    END $$;
    CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER write_offs_append_only BEFORE UPDATE OR DELETE ON write_offs
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
  `,
  down: `
    DROP TRIGGER audit_log_no_truncate ON audit_log;
    DROP TRIGGER audit_log_append_only ON audit_log;
    DROP TABLE write_offs;
    DROP TABLE usage_rollups;
    DROP TABLE ledger_entries;
    DROP TABLE generations;
    DROP TABLE holds;
    DROP FUNCTION refuse_change;
    DROP FUNCTION create_month_partitions;
    DROP FUNCTION id_floor;
    DROP TYPE ledger_contra;
    DROP TYPE ledger_entry_type;
    DROP TYPE usage_source;
    DROP TYPE generation_status;
  `,
};
