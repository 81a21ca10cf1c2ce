import type { SqlStatement } from '../store/statement.ts';

/**
 * Reads what pages show live about each account: its money, the position of its ledger, its newest generation, and its tasks that run or
 * ended within the last minute. $1 accounts, $2 number of newest tasks per account, $3 lowest id of a generation. Ids are time-ordered. A
 * task that still runs but is older than these is read by its page as before.
 */
export const liveFacts: SqlStatement = {
  name: 'console_live_facts',
  text: `
    SELECT b.account_id, b.posted::text AS posted, b.held::text AS held, b.debt::text AS debt, b.seq::text AS seq, newest.tasks, last.generation
      FROM balances b CROSS JOIN LATERAL (
           SELECT coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'key', t.api_key_id, 'state', t.state, 'progress', t.progress)), '[]') AS tasks
             FROM (SELECT id, api_key_id, state, progress, completed_at FROM tasks WHERE account_id = b.account_id ORDER BY id DESC LIMIT $2) t
            WHERE t.completed_at IS NULL OR t.completed_at > statement_timestamp() - interval '1 minute') newest
      LEFT JOIN LATERAL (
           SELECT jsonb_build_object('id', g.id, 'key', g.api_key_id) AS generation FROM generations g
            WHERE g.account_id = b.account_id AND g.id >= $3::uuid ORDER BY g.id DESC LIMIT 1) last ON true
     WHERE b.account_id = ANY ($1::uuid[])`,
};
