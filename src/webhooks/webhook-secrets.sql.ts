import type { SqlStatement } from '../store/statement.ts';

/** $1 account. */
export const findSecret: SqlStatement = {
  name: 'webhook_find_secret',
  text: 'SELECT secret, previous_secret, rotated_at FROM webhook_secrets WHERE account_id = $1',
};

/** $1 account after which to start, $2 limit. */
export const listSecrets: SqlStatement = {
  name: 'webhook_list_secrets',
  text: `SELECT account_id, secret, previous_secret FROM webhook_secrets WHERE account_id > $1 ORDER BY account_id LIMIT $2`,
};

/** $1 account, $2 sealed secret as read, $3 and $4 secret and previous secret, resealed. Changes nothing if it was rotated meanwhile. */
export const resealSecret: SqlStatement = {
  name: 'webhook_reseal_secret',
  text: 'UPDATE webhook_secrets SET secret = $3, previous_secret = $4 WHERE account_id = $1 AND secret = $2',
};

/** $1 account, $2 sealed secret. Of two concurrent inserts, the first wins. */
export const insertSecret: SqlStatement = {
  name: 'webhook_insert_secret',
  text: `INSERT INTO webhook_secrets (account_id, secret) VALUES ($1, $2) ON CONFLICT (account_id) DO NOTHING`,
};

/** $1 account, $2 sealed secret. */
export const rotateSecret: SqlStatement = {
  name: 'webhook_rotate_secret',
  text: `INSERT INTO webhook_secrets AS w (account_id, secret, rotated_at) VALUES ($1, $2, statement_timestamp())
    ON CONFLICT (account_id) DO UPDATE
      SET previous_secret = w.secret, secret = excluded.secret, rotated_at = excluded.rotated_at`,
};
