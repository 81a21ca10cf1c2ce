-- Writes what somebody did into the audit log, in the transaction that does it.
-- act: {actor, request_id, action, object, detail}; without an action nothing is written. facts: more detail, known only now.
CREATE OR REPLACE FUNCTION record_act(act jsonb, facts jsonb) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp AS $$
  INSERT INTO audit_log (actor, action, object, request_id, detail)
    SELECT act->>'actor', act->>'action', act->>'object', act->>'request_id', coalesce(act->'detail', '{}') || facts
     WHERE act ? 'action'
$$;
