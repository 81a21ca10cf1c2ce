import type { SqlStatement } from '../store/statement.ts';

/**
 * $1 limit, $2 ms after which a dispatch counts as lost, $3 maximum tries in flight per account. A slow endpoint of one customer
 * must not hold up the events of others, so an account's tries in flight count as turns taken.
 */
export const takeDeliveries: SqlStatement = {
  name: 'webhook_take',
  text: `WITH busy AS (
      SELECT account_id, count(*) AS tries FROM webhook_deliveries
       WHERE state = 'pending' AND next_try_at <= statement_timestamp() + interval '1 minute'
         AND dispatched_at >= statement_timestamp() - $2 * interval '1 ms'
       GROUP BY 1),
    due AS (
      SELECT id, account_id FROM webhook_deliveries
       WHERE state = 'pending' AND next_try_at <= statement_timestamp()
         AND (dispatched_at IS NULL OR dispatched_at < statement_timestamp() - $2 * interval '1 ms')
       ORDER BY next_try_at LIMIT 2000),
    turns AS (
      SELECT d.id, coalesce(b.tries, 0) + row_number() OVER (PARTITION BY d.account_id ORDER BY d.id) AS turn
        FROM due d LEFT JOIN busy b USING (account_id)),
    picked AS (
      SELECT w.id, p.turn
        FROM webhook_deliveries w
        JOIN (SELECT id, turn FROM turns WHERE turn <= $3 ORDER BY turn, id LIMIT $1) p USING (id)
       WHERE w.state = 'pending'
         AND (w.dispatched_at IS NULL OR w.dispatched_at < statement_timestamp() - $2 * interval '1 ms')
       FOR UPDATE OF w SKIP LOCKED),
    marked AS (
      UPDATE webhook_deliveries w SET dispatched_at = statement_timestamp() FROM picked p WHERE w.id = p.id
      RETURNING w.id, w.task_id, w.dispatched_at, p.turn)
    SELECT m.id, (extract(epoch FROM m.dispatched_at) * 1000)::bigint AS dispatch, g.request_id, g.id AS call_id
      FROM marked m LEFT JOIN generations g ON g.id = m.task_id ORDER BY m.turn, m.id`,
};

/** $1 ids. */
export const putBackDeliveries: SqlStatement = {
  name: 'webhook_put_back',
  text: `UPDATE webhook_deliveries SET dispatched_at = NULL WHERE id = ANY ($1::uuid[]) AND state = 'pending'`,
};

/** $1 id, $2 lease in ms. The try number is the fence. */
export const claimDelivery: SqlStatement = {
  name: 'webhook_claim',
  text: `UPDATE webhook_deliveries
       SET tries = tries + 1, next_try_at = statement_timestamp() + $2 * interval '1 ms'
     WHERE id = $1 AND state = 'pending' AND next_try_at <= statement_timestamp()
    RETURNING id, account_id, task_id, event, facts, url, tries`,
};

/** $1 id, $2 try, $3 state, $4 status, $5 error, $6 ms to the next try, $7 duration in ms. */
export const recordTry: SqlStatement = {
  name: 'webhook_record_try',
  text: `WITH recorded AS (
      UPDATE webhook_deliveries d
         SET state = $3, last_status = $4, last_error = $5, dispatched_at = NULL,
             next_try_at = statement_timestamp() + $6 * interval '1 ms',
             delivered_at = CASE WHEN $3 = 'delivered' THEN n.at ELSE d.delivered_at END
        -- OFFSET keeps it a row of its own: a router of several databases refuses functions of the time beside columns
        FROM (SELECT statement_timestamp() AS at OFFSET 0) n
       WHERE id = $1 AND tries = $2 AND state = 'pending'
      RETURNING id, account_id)
    INSERT INTO webhook_tries (delivery_id, account_id, try, status, error, duration_ms)
      SELECT id, account_id, $2, $4, $5, $7 FROM recorded`,
};

/** $1 id, $2 account, $3 act for the audit log or {}. Schedules one more try, now. */
export const redeliver: SqlStatement = {
  name: 'webhook_redeliver',
  text: `WITH scheduled AS (
      UPDATE webhook_deliveries SET state = 'pending', next_try_at = statement_timestamp(), dispatched_at = NULL
       WHERE id = $1 AND account_id = $2 RETURNING id)
    SELECT id, record_act($3::jsonb, '{}') FROM scheduled`,
};

const DELIVERY = `SELECT id, task_id, event, url, state, tries, next_try_at, last_status, last_error, created_at, delivered_at
      FROM webhook_deliveries`;

/** $1 account, $2 task. */
export const listDeliveries: SqlStatement = {
  name: 'webhook_list',
  text: `${DELIVERY} WHERE account_id = $1 AND task_id = $2 ORDER BY id`,
};

/** $1 account, $2 limit. Events of the account itself, newest first. */
export const listAlertDeliveries: SqlStatement = {
  name: 'webhook_list_alerts',
  text: `${DELIVERY} WHERE account_id = $1 AND task_id IS NULL ORDER BY created_at DESC LIMIT $2`,
};

/** $1 deliveries. */
export const listTries: SqlStatement = {
  name: 'webhook_list_tries',
  text: `SELECT delivery_id, try, at, status, error, duration_ms FROM webhook_tries
     WHERE delivery_id = ANY ($1::uuid[]) ORDER BY delivery_id, try`,
};
