import type { SqlStatement } from '../store/statement.ts';

/**
 * Accounts with finished hours that are not in usage_hours yet, filled ones without totals, or a day that ended after their last entry and
 * is not in usage_days. Those that have waited longest come first. $1: maximum number of accounts.
 */
export const accountsToRollUp: SqlStatement = {
  name: 'usage_accounts_to_roll_up',
  text: `SELECT b.account_id AS id FROM balances b LEFT JOIN usage_day_marks m USING (account_id)
          WHERE m.account_id IS NULL OR m.filled_until < m.final_until OR m.totals_until < m.filled_until
             OR (b.last_at > m.final_until AND m.final_until < date_bin('1 hour', ledger_now(), 'epoch'::timestamptz))
             OR (m.final_until <> date_bin('1 day', m.final_until, 'epoch'::timestamptz)
                 AND m.final_until < date_bin('1 day', ledger_now(), 'epoch'::timestamptz))
          ORDER BY m.final_until NULLS FIRST LIMIT $1`,
};

/** Makes all hours before the current one final: no settlement is recorded in them any more. $1 account. */
export const finishUsageDays: SqlStatement = {
  name: 'finish_usage_days',
  text: 'SELECT finish_usage_days($1)',
};

/** $1 account, $2 maximum number of days. Returns filled: the number of hours, 0 when none is left or another worker is filling them. */
export const fillUsageDays: SqlStatement = {
  name: 'fill_usage_days',
  text: 'SELECT fill_usage_days($1, $2) AS filled',
};
