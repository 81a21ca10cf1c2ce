import type { SqlStatement } from '../store/statement.ts';

/** Excludes idle and ended sessions: nobody may use them any more. */
const LIVE = `s.ends_at > statement_timestamp() AND s.seen_at > statement_timestamp() - interval '2 hours'`;

/**
 * Creates a session. Deletes ended ones of all accounts, and up to ten that the key has beyond its maximum. $1 id, $2 token hash, $3
 * account, $4 key, $5 duration in hours, $6 user agent, $7 address, $8 maximum per key, $9 when the person proved who they are or NULL.
 */
export const insertConsoleSession: SqlStatement = {
  name: 'console_session_insert',
  text: `
    WITH ended AS (
      DELETE FROM console_sessions WHERE id IN (
        SELECT id FROM console_sessions WHERE ends_at < statement_timestamp() ORDER BY ends_at LIMIT 100)),
    surplus AS (
      DELETE FROM console_sessions WHERE id IN (
        SELECT id FROM console_sessions WHERE account_id = $3 AND api_key_id = $4 ORDER BY id DESC OFFSET $8 - 1 LIMIT 10))
    INSERT INTO console_sessions (id, token_hash, account_id, api_key_id, ends_at, user_agent, address, proven_at)
    VALUES ($1, $2, $3, $4, statement_timestamp() + $5 * interval '1 hour', $6, $7, $9)
    RETURNING id, created_at, ends_at, proven_at`,
};

/** Continues a sign-in with another key. $1 session, $2 new id, $3 new token hash, $4 account, $5 key. */
export const moveConsoleSession: SqlStatement = {
  name: 'console_session_move',
  text: `
    WITH ended AS (DELETE FROM console_sessions s WHERE s.id = $1 AND ${LIVE} RETURNING s.*)
    INSERT INTO console_sessions (id, token_hash, account_id, api_key_id, created_at, ends_at, user_agent, address,
      proven_at)
    SELECT $2, $3, $4, $5, created_at, ends_at, user_agent, address, proven_at FROM ended
    RETURNING id, created_at, ends_at, proven_at`,
};

/** Finds a session. A lookup counts as a use, which is noted at most once a minute. $1 token hash. */
export const findConsoleSession: SqlStatement = {
  name: 'console_session_find',
  text: `
    WITH found AS (
      SELECT s.id, s.account_id, k.hash AS key_hash, s.created_at, s.ends_at, s.seen_at, s.proven_at
        FROM console_sessions s JOIN api_keys k ON k.id = s.api_key_id
       WHERE s.token_hash = $1 AND ${LIVE}),
    noted AS (
      UPDATE console_sessions s SET seen_at = statement_timestamp() FROM found
       WHERE s.id = found.id AND found.seen_at < statement_timestamp() - interval '1 minute')
    SELECT id, account_id, key_hash, created_at, ends_at, proven_at FROM found`,
};

/** Lists sessions, newest first. $1 account, $2 key hash or NULL for all, $3 before id or NULL, $4 maximum number. */
export const listConsoleSessions: SqlStatement = {
  name: 'console_session_list',
  text: `
    SELECT s.id, k.hash AS key_hash, k.name AS key_name, s.created_at, s.seen_at, s.ends_at, s.user_agent, s.address
      FROM console_sessions s JOIN api_keys k ON k.id = s.api_key_id
     WHERE s.account_id = $1 AND ($2::text IS NULL OR k.hash = $2) AND ($3::uuid IS NULL OR s.id < $3) AND ${LIVE}
     ORDER BY s.id DESC LIMIT $4`,
};

/** $1 account, $2 key hash or NULL for all, $3 session or NULL for all. */
export const deleteConsoleSessions: SqlStatement = {
  name: 'console_session_delete',
  text: `
    DELETE FROM console_sessions s USING api_keys k
     WHERE k.id = s.api_key_id AND s.account_id = $1 AND ($2::text IS NULL OR k.hash = $2)
       AND ($3::uuid IS NULL OR s.id = $3)
    RETURNING s.id, s.token_hash`,
};
