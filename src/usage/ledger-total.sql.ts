import type { SqlStatement } from '../store/statement.ts';

/**
 * Adds up the charges one by one. $1 account, $2 ≤ time < $3, $4 key or NULL, $5 maximum number of charges. Returns amount in nano-USD;
 * NULL when there are more.
 */
export const sumOfCharges: SqlStatement = {
  name: 'ledger_sum_of_charges',
  text: `
    SELECT CASE WHEN count(*) <= $5::bigint THEN coalesce(-sum(e.amount), 0)::text END AS amount
      FROM (SELECT amount FROM ledger_entries
             WHERE account_id = $1 AND type = 'usage_charge' AND at >= $2 AND at < $3
               AND ($4::uuid IS NULL OR api_key_id = $4::uuid)
             LIMIT $5::bigint + 1) e`,
};

/**
 * Computes the same for an account with any number of charges: by how much the balance fell beyond what all other entries explain, as in
 * statements. $1 account, $2 ≤ time < $3. Returns amount in nano-USD.
 */
export const chargesByBalance: SqlStatement = {
  name: 'ledger_charges_by_balance',
  text: `
    WITH opening AS (
      SELECT coalesce((SELECT balance_after FROM ledger_entries WHERE account_id = $1 AND at < $2
                        ORDER BY at DESC, seq DESC LIMIT 1), 0) AS amount),
    closing AS (
      SELECT coalesce((SELECT balance_after FROM ledger_entries WHERE account_id = $1 AND at < $3
                        ORDER BY at DESC, seq DESC LIMIT 1), 0) AS amount),
    other AS (
      SELECT coalesce(sum(amount), 0) AS amount FROM ledger_entries
       WHERE account_id = $1 AND type <> 'usage_charge' AND at >= $2 AND at < $3)
    SELECT (o.amount + x.amount - c.amount)::text AS amount FROM opening o, closing c, other x`,
};
