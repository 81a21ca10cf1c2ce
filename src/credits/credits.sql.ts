import type { SqlStatement } from '../store/statement.ts';

/** $1 account. → changed_at: time of its last entry; closing a month moves `last_at` on without one */
export const creditsOfAccount: SqlStatement = {
  name: 'credits_of_account',
  text: `
    SELECT b.posted, b.used, b.held, b.debt,
           coalesce((SELECT e.at FROM ledger_entries e WHERE e.account_id = $1 ORDER BY e.at DESC, e.seq DESC LIMIT 1), a.created_at) AS changed_at
      FROM balances b JOIN accounts a ON a.id = b.account_id WHERE b.account_id = $1`,
};
