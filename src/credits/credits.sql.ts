import type { SqlStatement } from '../store/statement.ts';

/** $1 account. */
export const creditsOfAccount: SqlStatement = {
  name: 'credits_of_account',
  text: 'SELECT posted, used, held, debt, last_at FROM balances WHERE account_id = $1',
};
