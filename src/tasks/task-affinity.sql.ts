import type { SqlStatement } from '../store/statement.ts';
import { accountsWaiting } from './task-dispatch.sql.ts';

const DUE = `cancel_requested_at IS NULL AND not_before <= statement_timestamp() AND deadline_at > statement_timestamp()`;
const OFFER = `id, dispatched_at, passed_over_at, parameters->>'upstream_model' AS model`;

/**
 * $1 pool, $2 task whose turn it is, $3 models that the worker has loaded, $4 patience in ms, $5 accounts, $6 tasks of each, $7
 * maximum rows. Returns the tasks of the pool that the worker should try to claim, in this order: those passed over for longer than
 * the patience, longest first; those whose model it has loaded; the one whose turn it is; the rest by their turns. Considers only
 * tasks whose turn has come: they are at the front of each account's queue. If another task comes first, the one whose turn it is
 * counts as passed over from then on.
 */
export const preferLoaded: SqlStatement = {
  name: 'task_prefer_loaded',
  text: `WITH RECURSIVE ${accountsWaiting("state = 'queued' AND pool = $1")},
    offered AS (
      SELECT ${OFFER} FROM tasks WHERE id = $2 AND state = 'queued' AND pool = $1 AND ${DUE}
      UNION
      SELECT w.id, w.dispatched_at, w.passed_over_at, w.model
        FROM (SELECT account_id FROM accounts WHERE account_id IS NOT NULL LIMIT $5) a
        CROSS JOIN LATERAL (
          SELECT ${OFFER} FROM tasks
           WHERE state = 'queued' AND pool = $1 AND account_id = a.account_id AND ${DUE}
           ORDER BY id LIMIT $6) w
       WHERE w.dispatched_at IS NOT NULL),
    ranked AS (
      SELECT id, row_number() OVER (
               ORDER BY CASE WHEN passed_over_at <= statement_timestamp() - $4 * interval '1 ms' THEN passed_over_at END NULLS LAST,
                        coalesce(model = ANY ($3::text[]), false) DESC, id = $2 DESC, dispatched_at, id) AS place
        FROM offered),
    passed_over AS (
      UPDATE tasks t SET passed_over_at = statement_timestamp()
        FROM ranked r
       WHERE t.id = $2 AND r.place = 1 AND r.id <> $2 AND t.state = 'queued' AND t.passed_over_at IS NULL)
    SELECT id FROM ranked ORDER BY place LIMIT $7`,
};
