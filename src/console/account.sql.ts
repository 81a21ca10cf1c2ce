import type { SqlStatement } from '../store/statement.ts';

/** Reads an account and counts what runs now. $1 account, $2 key or NULL for all. */
export const accountOverview: SqlStatement = {
  name: 'console_account_overview',
  text: `
    SELECT a.id, a.name, a.suspended, a.created_at, b.posted, b.held, b.debt,
           (SELECT count(*)::integer FROM holds h
             WHERE h.account_id = a.id AND NOT h.is_task AND ($2::uuid IS NULL OR h.api_key_id = $2)) AS running_calls,
           (SELECT count(*)::integer FROM holds h
             WHERE h.account_id = a.id AND h.is_task AND ($2::uuid IS NULL OR h.api_key_id = $2)) AS running_tasks
      FROM accounts a JOIN balances b ON b.account_id = a.id WHERE a.id = $1`,
};
