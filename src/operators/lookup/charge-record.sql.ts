import type { SqlStatement } from '../../store/statement.ts';

/** $1 generation. Adds the account and operator-only facts to what its customer may read. An open hold has no attempts yet. */
export const chargeRecord: SqlStatement = {
  name: 'operator_charge_record',
  text: `
    SELECT g.account_id, a.name AS account_name, k.name AS api_key_name, g.hold_amount AS held, coalesce(g.shortfall, 0) AS shortfall, g.provider,
           g.provider_cost, g.attempts
      FROM generations g JOIN accounts a ON a.id = g.account_id JOIN api_keys k ON k.id = g.api_key_id WHERE g.id = $1::uuid
    UNION ALL
    SELECT h.account_id, a.name, k.name, h.amount, 0, NULL, NULL, '[]'::jsonb
      FROM holds h JOIN accounts a ON a.id = h.account_id JOIN api_keys k ON k.id = h.api_key_id WHERE h.id = $1::uuid
    LIMIT 1`,
};

/** $1 account, $2 generation. Its ledger entries, oldest first: the charge and refunds of it. */
export const entriesOfCharge: SqlStatement = {
  name: 'operator_entries_of_charge',
  text: `
    SELECT e.type::text AS type, e.reference, e.seq, e.amount, e.balance_after, e.contra::text AS contra, e.reverses,
           e.reason_code, e.description, e.at, NULL::integer AS statement_version, e.account_id, e.actor, e.request_id,
           NULL AS payment_id, NULL::uuid AS call_id
      FROM ledger_entries e
     WHERE e.account_id = $1::uuid AND ((e.reference = $2::uuid AND e.type = 'usage_charge') OR e.reverses = $2::uuid)
     ORDER BY e.seq`,
};

/** $1 generation. */
export const writeOffsOfCharge: SqlStatement = {
  name: 'operator_write_offs_of_charge',
  text: 'SELECT reason, amount, at FROM write_offs WHERE generation_id = $1::uuid ORDER BY at, id',
};

/** $1 an instant. → month (YYYY-MM) that it lies in, when the calls of that month are only in an archive file */
export const archivedMonthAt: SqlStatement = {
  name: 'operator_archived_month_at',
  text: `SELECT to_char(month_start AT TIME ZONE 'UTC', 'YYYY-MM') AS month FROM call_archives
          WHERE dropped_at IS NOT NULL AND month_start <= $1 AND month_end > $1`,
};
