import type { SqlStatement } from '../store/statement.ts';

/** $1: how many at most. Accounts with finished days that are not in usage_days yet. */
export const accountsToRollUp: SqlStatement = {
  name: 'usage_accounts_to_roll_up',
  text: `SELECT b.account_id AS id FROM balances b LEFT JOIN usage_day_marks m USING (account_id)
          WHERE m.account_id IS NULL OR m.filled_until < m.final_until
             OR (b.last_at > m.final_until AND m.final_until < date_bin('1 day', ledger_now(), 'epoch'::timestamptz))
          LIMIT $1`,
};

/** $1 account. No settlement lands in a day before today any more. */
export const finishUsageDays: SqlStatement = {
  name: 'finish_usage_days',
  text: 'SELECT finish_usage_days($1)',
};

/** $1 account, $2 days at most. → filled: how many, 0 when there is none to fill or another worker is at it */
export const fillUsageDays: SqlStatement = {
  name: 'fill_usage_days',
  text: 'SELECT fill_usage_days($1, $2) AS filled',
};
