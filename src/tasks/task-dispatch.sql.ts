import type { SqlStatement } from '../store/statement.ts';

/** Returns a term of a recursive WITH: the accounts with tasks that meet the condition, by one index probe each; the last row is NULL. */
export function accountsWaiting(condition: string, first = ''): string {
  return `accounts (account_id) AS (
      (SELECT account_id FROM tasks WHERE ${condition} ${first}
        ORDER BY account_id LIMIT 1)
      UNION ALL
      SELECT (SELECT t.account_id FROM tasks t WHERE ${condition} AND t.account_id > a.account_id
               ORDER BY t.account_id LIMIT 1)
        FROM accounts a WHERE a.account_id IS NOT NULL)`;
}

/**
 * Builds the statement that marks tasks as dispatched, within limits per account and per look. Does not wait for the disk: if a crash
 * of Postgres undoes a mark, a job is sent again, and the claim that comes next is durable.
 */
function takeStatement(
  name: string,
  waiting: 'queued' | 'generated',
  running: string,
  pool: string,
): SqlStatement {
  return {
    name,
    text: `WITH RECURSIVE ${accountsWaiting(`state = '${waiting}' ${pool}`, 'AND account_id > $1')},
    considered AS (SELECT account_id FROM accounts WHERE account_id IS NOT NULL LIMIT $2),
    running AS (
      SELECT account_id, count(*) AS tasks FROM tasks WHERE state = '${running}' ${pool} GROUP BY 1),
    turns AS (
      SELECT w.id, w.turn
        FROM considered c LEFT JOIN running r USING (account_id)
        CROSS JOIN LATERAL (
          SELECT id, turn
            FROM (SELECT id, coalesce(r.tasks, 0) + row_number() OVER (ORDER BY id) AS turn,
                         dispatched_at IS NULL OR dispatched_at < statement_timestamp() - $5 * interval '1 ms' AS due
                    FROM tasks
                   WHERE state = '${waiting}' ${pool} AND account_id = c.account_id
                     AND not_before <= statement_timestamp() AND cancel_requested_at IS NULL
                   ORDER BY id LIMIT greatest($3 - coalesce(r.tasks, 0), 0)) oldest
           WHERE due LIMIT $4) w),
    picked AS (
      SELECT t.id, p.turn
        FROM tasks t JOIN (SELECT id, turn FROM turns ORDER BY turn, id LIMIT $4) p USING (id)
       WHERE t.state = '${waiting}'
         AND (t.dispatched_at IS NULL OR t.dispatched_at < statement_timestamp() - $5 * interval '1 ms')
       FOR UPDATE OF t SKIP LOCKED),
    marked AS (
      UPDATE tasks t SET dispatched_at = statement_timestamp(), dispatches = t.dispatches + 1
        FROM picked p WHERE t.id = p.id
      RETURNING t.id, t.dispatches AS dispatch, p.turn)
    SELECT m.id, m.dispatch, h.request_id, (SELECT count(*) FROM considered)::integer AS accounts,
           (SELECT account_id FROM considered ORDER BY account_id DESC LIMIT 1) AS last_account
      FROM (SELECT set_config('synchronous_commit', 'off', true)) unhurried LEFT JOIN marked m ON true
      LEFT JOIN holds h ON h.id = m.id ORDER BY m.turn, m.id`,
  };
}

/**
 * $1 account after which to start, $2 accounts, $3 maximum tasks in flight per account, $4 limit, $5 ms after which a dispatch
 * counts as lost, $6 pool.
 * Walks from account to account by index, takes each one's oldest tasks, and orders them by turn: an account's first task comes
 * before anyone's second, and its running tasks count as turns taken. Reads no more of an account's queue than the account may have
 * in flight, so a plan that walks the index of a long queue stops there: tasks already dispatched are at the front.
 */
export const takeQueued = takeStatement('task_take_queued', 'queued', 'generating', 'AND pool = $6');

/** The same for finished engine runs, across all pools. */
export const takeGenerated = takeStatement('task_take_generated', 'generated', 'processing', '');

/** $1 ids, $2 dispatches. */
export const putBackTasks: SqlStatement = {
  name: 'task_put_back',
  text: `UPDATE tasks t SET dispatched_at = NULL
      FROM unnest($1::uuid[], $2::integer[]) i (id, dispatch)
     WHERE t.id = i.id AND t.dispatches = i.dispatch AND t.state IN ('queued', 'generated')`,
};

/** $1 worker, $2 queues, $3 slots. */
export const registerSlots: SqlStatement = {
  name: 'worker_register_slots',
  text: `WITH left_off AS (DELETE FROM worker_slots WHERE worker = $1 AND queue <> ALL ($2::text[]))
    INSERT INTO worker_slots (worker, queue, slots, seen_at)
      SELECT $1, u.queue, u.slots, statement_timestamp() FROM unnest($2::text[], $3::integer[]) u (queue, slots)
    ON CONFLICT (worker, queue) DO UPDATE SET slots = excluded.slots, seen_at = excluded.seen_at`,
};

/** $1 worker. */
export const forgetWorker: SqlStatement = {
  name: 'worker_forget',
  text: 'DELETE FROM worker_slots WHERE worker = $1',
};

/** $1 ms after which a silent worker no longer counts. */
export const liveSlots: SqlStatement = {
  name: 'worker_live_slots',
  text: `SELECT queue, sum(slots)::integer AS slots FROM worker_slots
     WHERE seen_at > statement_timestamp() - $1 * interval '1 ms' GROUP BY 1`,
};
