-- Adds an event to the history of a task unless it has one with the same text. The lock comes first, in a statement of its own: the
-- next one sees what another transaction wrote before it released the lock.
CREATE OR REPLACE FUNCTION note_task_event(task uuid, note text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM 1 FROM tasks t WHERE t.id = task FOR NO KEY UPDATE;
  INSERT INTO task_events (task_id, account_id, state, attempt, detail)
    SELECT t.id, t.account_id, t.state, t.attempt, note FROM tasks t
     WHERE t.id = task AND NOT EXISTS (SELECT 1 FROM task_events e WHERE e.task_id = task AND e.detail = note);
END $$;
