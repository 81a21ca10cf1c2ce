-- Returns the digest of an entry: over the previous digest, every column of the entry and, for a charge, every column of its call.
-- Columns are listed one by one, so that a column added later changes no digest.
CREATE OR REPLACE FUNCTION entry_digest(before bytea, e ledger_entries, g generations) RETURNS bytea
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT sha256(before || convert_to(jsonb_build_array(
    e.account_id, e.seq, e.type, e.amount, e.balance_after, e.contra, e.reference, e.reverses, e.api_key_id, e.description,
    (extract(epoch FROM e.at) * 1000000)::bigint, e.actor, e.request_id, e.reason_code,
    g.api_key_id, g.request_id, g.endpoint, g.model, g.status, g.error_code, g.error_message, g.input_tokens, g.output_tokens,
    g.cache_read_tokens, g.cache_write_tokens, g.reasoning_tokens, g.usage_source, g.price_version, g.hold_amount, g.charge,
    g.lines, g.shortfall, g.provider, g.provider_cost, g.attempts, g.finish_reason, g.streamed, g.latency_ms, g.first_token_ms, g.metering,
    (extract(epoch FROM g.created_at) * 1000000)::bigint, (extract(epoch FROM g.completed_at) * 1000000)::bigint)::text, 'UTF8'))
$$;

-- Seals up to at_most (NULL: all) unsealed entries of an account, oldest first. Returns how many, and the time of the last one. Who goes on
-- from there passes that time as since, which spares a search for it.
DROP FUNCTION IF EXISTS seal_account(uuid);
DROP FUNCTION IF EXISTS seal_account(uuid, integer);
CREATE OR REPLACE FUNCTION seal_account(account uuid, at_most integer DEFAULT NULL, since timestamptz DEFAULT NULL,
  OUT sealed integer, OUT until timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
-- Reads one call per entry, by its id: the plan for an account of ordinary size would read all calls
-- of a large one for each of its entries.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off AS $$
DECLARE
  last ledger_seals;
  unsealed record;
  seqs bigint[] := '{}';
  digests bytea[] := '{}';
BEGIN
  sealed := 0;
  -- two workers must not continue the same chain at once
  PERFORM pg_advisory_xact_lock(hashtextextended('seal/' || account, 0));
  SELECT * INTO last FROM ledger_seals s WHERE s.account_id = account ORDER BY s.seq DESC LIMIT 1;
  FOR unsealed IN
    -- the columns of entry_digest, in the same order: calling it for each entry would take twice the time
    SELECT e.seq, e.at, convert_to(jsonb_build_array(
             e.account_id, e.seq, e.type, e.amount, e.balance_after, e.contra, e.reference, e.reverses, e.api_key_id, e.description,
             (extract(epoch FROM e.at) * 1000000)::bigint, e.actor, e.request_id, e.reason_code,
             g.api_key_id, g.request_id, g.endpoint, g.model, g.status, g.error_code, g.error_message, g.input_tokens, g.output_tokens,
             g.cache_read_tokens, g.cache_write_tokens, g.reasoning_tokens, g.usage_source, g.price_version, g.hold_amount, g.charge,
             g.lines, g.shortfall, g.provider, g.provider_cost, g.attempts, g.finish_reason, g.streamed, g.latency_ms, g.first_token_ms, g.metering,
             (extract(epoch FROM g.created_at) * 1000000)::bigint, (extract(epoch FROM g.completed_at) * 1000000)::bigint)::text, 'UTF8') AS content
      FROM ledger_entries e
      LEFT JOIN generations g ON g.id = e.reference AND e.type = 'usage_charge' AND g.account_id = account
     WHERE e.account_id = account AND e.seq > coalesce(last.seq, 0)
       -- no index maps a seq to its time: this walks back from the newest entries to the last sealed one
       AND e.at >= coalesce(since, (SELECT p.at FROM ledger_entries p WHERE p.account_id = account AND p.seq <= last.seq
                              ORDER BY p.at DESC, p.seq DESC LIMIT 1), '-infinity')
     -- the order of the index, in which time and seq rise together; ordering by seq alone would read all remaining entries for each batch
     ORDER BY e.at, e.seq LIMIT at_most
  LOOP
    IF sealed = 0 AND since IS NOT NULL AND unsealed.seq > last.seq + 1 THEN
      RAISE EXCEPTION 'entries of account % before % are not sealed', account, since;
    END IF;
    last.digest := sha256(coalesce(last.digest, '') || unsealed.content);
    sealed := sealed + 1;
    until := unsealed.at;
    seqs[sealed] := unsealed.seq;
    digests[sealed] := last.digest;
  END LOOP;
  INSERT INTO ledger_seals SELECT account, s.seq, s.digest FROM unnest(seqs, digests) s (seq, digest);
END $$;

CREATE OR REPLACE FUNCTION audit_digest(before bytea, a audit_log) RETURNS bytea
LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT sha256(before || convert_to(jsonb_build_array(a.id, (extract(epoch FROM a.at) * 1000000)::bigint, a.actor, a.action,
    a.object, a.request_id, a.detail)::text, 'UTF8'))
$$;

-- Seals the unsealed rows of the audit log, in the order they become visible. Returns how many.
CREATE OR REPLACE FUNCTION seal_audit_log() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  last audit_seals;
  unsealed audit_log;
  made integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('seal/audit', 0));
  SELECT * INTO last FROM audit_seals s ORDER BY s.position DESC LIMIT 1;
  FOR unsealed IN SELECT * FROM audit_log a
    -- a transaction that began earlier may make a lower id visible later
    WHERE a.id > coalesce((SELECT max(s.audit_id) FROM audit_seals s), 0) - 10000
      AND NOT EXISTS (SELECT 1 FROM audit_seals s WHERE s.audit_id = a.id) ORDER BY a.id
  LOOP
    last.position := coalesce(last.position, 0) + 1;
    last.digest := audit_digest(coalesce(last.digest, ''), unsealed);
    INSERT INTO audit_seals VALUES (last.position, unsealed.id, last.digest);
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;
