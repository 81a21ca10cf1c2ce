import type { SqlStatement } from '../store/statement.ts';

/** Actors other than operators. */
const SERVICES = `'system', 'upgrade', 'stripe', 'test'`;

/**
 * $1 from or NULL, $2 before or NULL, $3–$5 account, time with µs and seq of the last row or NULL, $6 limit, $7 whether only
 * entries booked by operators. By account and time.
 */
export const allEntries: SqlStatement = {
  name: 'all_ledger_entries',
  text: `
    SELECT e.account_id, e.type::text AS type, e.reference, e.seq, e.amount, e.balance_after, e.contra::text AS contra, e.reverses,
           e.reason_code, e.description, e.at, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at_text,
           e.actor, coalesce(e.request_id, g.request_id) AS request_id, g.id AS call_id, s.payment_id, i.version AS statement_version
      FROM ledger_entries e
      LEFT JOIN generations g ON g.id = e.reference AND e.type = 'usage_charge'
      LEFT JOIN checkout_sessions s ON s.id = coalesce(e.reverses, e.reference) AND e.contra = 'cash_clearing'
      LEFT JOIN invoices i ON i.account_id = e.account_id AND i.version > 1 AND i.status <> 'void'
           AND i.period_start = date_trunc('month', e.at, 'UTC')
     WHERE e.at >= coalesce($1::timestamptz, '-infinity') AND e.at < coalesce($2::timestamptz, 'infinity')
       AND ($3::uuid IS NULL OR (e.account_id, e.at, e.seq) > ($3::uuid, $4::timestamptz, $5::bigint))
       AND (NOT $7::boolean OR (e.type <> 'usage_charge' AND e.actor NOT IN (${SERVICES})))
     ORDER BY e.account_id, e.at, e.seq LIMIT $6`,
};
