import type { SqlStatement } from '../../store/statement.ts';

const LEASE = `interval '60 seconds'`;
const DAY = `interval '24 hours'`;

/**
 * Claims a key when it is new, older than a day, or left behind by a process that died. In the last case the generation id stays, so that
 * the same hold is used. The current time is the `created_at` of the new row. $1 account, $2 key, $3 fingerprint, $4 request, $5
 * generation. → generation_id
 */
export const claimIdempotencyKey: SqlStatement = {
  name: 'idempotency_claim',
  text: `
  INSERT INTO idempotency_keys AS k (account_id, key, fingerprint, state, request_id, generation_id, created_at, locked_until)
  VALUES ($1, $2, $3, 'running', $4, $5, statement_timestamp(), statement_timestamp() + ${LEASE})
  ON CONFLICT (account_id, key) DO UPDATE SET
    fingerprint = excluded.fingerprint,
    state = 'running',
    request_id = excluded.request_id,
    generation_id = CASE WHEN excluded.created_at - k.created_at > ${DAY} THEN excluded.generation_id ELSE k.generation_id END,
    status_code = NULL,
    answer = NULL,
    created_at = CASE WHEN excluded.created_at - k.created_at > ${DAY} THEN excluded.created_at ELSE k.created_at END,
    locked_until = excluded.locked_until
  WHERE excluded.created_at - k.created_at > ${DAY}
    OR (k.state = 'running' AND k.locked_until < excluded.created_at AND k.fingerprint = excluded.fingerprint)
  RETURNING generation_id`,
};

/**
 * Replaces the generation of a dead process that a claim kept, if that call has since been closed without a charge: its id is used up. A
 * task keeps its id, because the task is what the call created. $1 account, $2 key, $3 generation, $4 new generation. → generation_id; no
 * row when the old one stays
 */
export const replaceEndedGeneration: SqlStatement = {
  name: 'idempotency_replace_generation',
  text: `
  UPDATE idempotency_keys SET generation_id = $4
  WHERE account_id = $1 AND key = $2 AND generation_id = $3 AND state = 'running'
    AND EXISTS (SELECT FROM generations WHERE id = $3 AND account_id = $1 AND charge = 0)
    AND NOT EXISTS (SELECT FROM tasks WHERE id = $3 AND account_id = $1)
  RETURNING generation_id`,
};

/** $1 account, $2 key. */
export const readIdempotencyKey: SqlStatement = {
  name: 'idempotency_read',
  text: `
  SELECT CASE WHEN state = 'running' AND locked_until < statement_timestamp() THEN 'dead' ELSE state END AS state,
    fingerprint, generation_id, status_code, answer
  FROM idempotency_keys WHERE account_id = $1 AND key = $2`,
};

/** $1 account, $2 key, $3 generation. */
export const renewIdempotencyKey: SqlStatement = {
  name: 'idempotency_renew',
  text: `
  UPDATE idempotency_keys SET locked_until = statement_timestamp() + ${LEASE}
  WHERE account_id = $1 AND key = $2 AND generation_id = $3 AND state = 'running'`,
};

/** $1 account, $2 key, $3 generation, $4 status, $5 sealed answer or NULL. */
export const completeIdempotencyKey: SqlStatement = {
  name: 'idempotency_complete',
  text: `
  UPDATE idempotency_keys SET state = 'done', status_code = $4, answer = $5
  WHERE account_id = $1 AND key = $2 AND generation_id = $3 AND state = 'running'`,
};

/**
 * Lets a failed call be retried with its key, unless it was charged: then the key keeps naming that charge. $1 account, $2 key, $3
 * generation.
 */
export const releaseIdempotencyKey: SqlStatement = {
  name: 'idempotency_release',
  text: `
  WITH charged AS (SELECT 1 FROM generations WHERE id = $3::uuid AND account_id = $1 AND charge > 0),
  kept AS (
    UPDATE idempotency_keys SET state = 'done'
    WHERE account_id = $1 AND key = $2 AND generation_id = $3::uuid AND state = 'running' AND EXISTS (SELECT FROM charged)
  )
  DELETE FROM idempotency_keys
  WHERE account_id = $1 AND key = $2 AND generation_id = $3::uuid AND state = 'running' AND NOT EXISTS (SELECT FROM charged)`,
};

/** How long a retry may join a call whose client left. */
const JOINABLE = `interval '60 seconds'`;

/** $1 account, $2 key, $3 fingerprint, $4 request, $5 generation. */
export const leaveCall: SqlStatement = {
  name: 'idempotency_leave',
  text: `
  INSERT INTO idempotency_keys
    (account_id, key, fingerprint, state, request_id, generation_id, locked_until, joinable_until)
  VALUES ($1, $2, $3, 'running', $4, $5, statement_timestamp() + ${LEASE}, statement_timestamp() + ${JOINABLE})`,
};

/**
 * Joins a call to a retry. Of several identical calls, each is joined by one retry only, so two callers never get the same answer. $1
 * account, $2 fingerprint. → key
 */
export const joinCall: SqlStatement = {
  name: 'idempotency_join',
  text: `
  UPDATE idempotency_keys SET joinable_until = NULL
  WHERE account_id = $1 AND key = (
    SELECT key FROM idempotency_keys
    WHERE account_id = $1 AND fingerprint = $2 AND joinable_until > statement_timestamp()
      AND (state = 'running' OR answer IS NOT NULL)
    ORDER BY joinable_until LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING key`,
};

/** $1 account, $2 key. */
export const unjoinCall: SqlStatement = {
  name: 'idempotency_unjoin',
  text: `
  UPDATE idempotency_keys SET joinable_until = statement_timestamp() + ${JOINABLE}
  WHERE account_id = $1 AND key = $2`,
};

/**
 * $1 account, $2 key, $3 generation, $4 grace in ms. Returns a row while a retry waits for the call or the last client left within the
 * grace.
 */
export const isCallWanted: SqlStatement = {
  name: 'idempotency_is_wanted',
  text: `
  SELECT FROM idempotency_keys WHERE account_id = $1 AND key = $2 AND generation_id = $3
    AND (joinable_until IS NULL
      OR joinable_until > statement_timestamp() + ${JOINABLE} - $4 * interval '1 millisecond')`,
};

/** Deletes keys older than a day. $1 maximum number of rows. */
export const expireIdempotencyKeys: SqlStatement = {
  name: 'idempotency_expire',
  text: `DELETE FROM idempotency_keys WHERE (account_id, key) IN (
    SELECT account_id, key FROM idempotency_keys WHERE created_at < statement_timestamp() - ${DAY} LIMIT $1)`,
};
