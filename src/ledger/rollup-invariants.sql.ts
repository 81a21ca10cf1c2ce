import { CHARGE_SUMS, USAGE_SUMS } from './usage-sums.ts';

/** Sums of calls, named like those of the roll-ups. */
const CALL_SUMS = USAGE_SUMS.filter((name) => name !== 'requests' && name !== 'charge')
  .map((name) =>
    name.startsWith('charge_')
      ? `sum(coalesce((lines->>'${name.slice('charge_'.length)}')::bigint, 0)) AS ${name}`
      : `coalesce(sum(${name}), 0) AS ${name}`,
  )
  .join(', ');

/** Returns the columns of a table or an alias, separated by commas. */
const columnsOf = (of: string, names: readonly string[]) => names.map((name) => `${of}.${name}`).join(', ');

/** Returns the sums of the columns, under their own names. */
const sumsOf = (of: string, names: readonly string[]) =>
  names.map((name) => `sum(${of}.${name}) AS ${name}`).join(', ');

/** Months whose calls are not in the database. */
const ARCHIVED = 'SELECT month_start, month_end FROM call_archives WHERE dropped_at IS NOT NULL';

/** I12: five-minute roll-ups that differ from the calls. $1: one account's id, or NULL for all. */
export const ROLLUPS_UNLIKE_CALLS = `SELECT coalesce(g.account_id, u.account_id)::text AS object,
             concat_ws(' ', 'bucket', coalesce(g.bucket, u.bucket), coalesce(g.model, u.model)) AS detail
      FROM (SELECT account_id, api_key_id, endpoint, model, date_bin('5 minutes', completed_at, 'epoch'::timestamptz) AS bucket,
                   count(*) AS requests, sum(charge) AS charge, ${CALL_SUMS}
              FROM generations c WHERE ($1::uuid IS NULL OR account_id = $1)
               AND NOT EXISTS (SELECT 1 FROM (${ARCHIVED}) a WHERE c.completed_at >= month_start AND c.completed_at < month_end)
             GROUP BY 1, 2, 3, 4, 5) g
      FULL JOIN (SELECT * FROM usage_rollups r WHERE ($1::uuid IS NULL OR account_id = $1)
               AND NOT EXISTS (SELECT 1 FROM (${ARCHIVED}) a WHERE r.bucket >= month_start AND r.bucket < month_end)) u
        USING (account_id, api_key_id, endpoint, model, bucket)
     WHERE (${columnsOf('g', USAGE_SUMS)}) IS DISTINCT FROM (${columnsOf('u', USAGE_SUMS)})
    UNION ALL
    SELECT coalesce(e.account_id, u.account_id)::text, 'archived bucket ' || coalesce(e.bucket, u.bucket)
      FROM (SELECT account_id, api_key_id, date_bin('5 minutes', at, 'epoch'::timestamptz) AS bucket, -sum(amount) AS charge
              FROM ledger_entries JOIN (${ARCHIVED}) a ON at >= month_start AND at < month_end
             WHERE type = 'usage_charge' AND ($1::uuid IS NULL OR account_id = $1) GROUP BY 1, 2, 3) e
      FULL JOIN (SELECT account_id, api_key_id, bucket, sum(charge) AS charge
              FROM usage_rollups JOIN (${ARCHIVED}) a ON bucket >= month_start AND bucket < month_end
             WHERE charge <> 0 AND ($1::uuid IS NULL OR account_id = $1) GROUP BY 1, 2, 3) u
        USING (account_id, api_key_id, bucket)
     WHERE e.charge IS DISTINCT FROM u.charge
    UNION ALL
    SELECT e.reference::text, 'booked at ' || e.at
      FROM ledger_entries e JOIN generations g ON g.id = e.reference AND g.account_id = e.account_id
     WHERE e.type = 'usage_charge' AND ($1::uuid IS NULL OR e.account_id = $1) AND e.at <> g.completed_at`;

/** I15: rows of usage_days or usage_hours that differ from the sums of their roll-ups. $1 as above, $2 the start time or NULL. */
export function unlikeRollups(length: 'day' | 'hour'): string {
  return `SELECT coalesce(d.account_id, u.account_id)::text AS object, '${length} ' || coalesce(d.${length}, u.${length}) AS detail
      FROM (SELECT * FROM usage_${length}s WHERE ($1::uuid IS NULL OR account_id = $1) AND ($2::timestamptz IS NULL OR ${length} >= $2)) d
      FULL JOIN (SELECT r.account_id, date_bin('1 ${length}', r.bucket, 'epoch'::timestamptz) AS ${length}, r.api_key_id,
                        r.endpoint, r.model, ${sumsOf('r', USAGE_SUMS)}
             FROM usage_rollups r JOIN usage_day_marks m
               ON m.account_id = r.account_id AND r.bucket < date_bin('1 ${length}', m.filled_until, 'epoch'::timestamptz)
            WHERE ($1::uuid IS NULL OR r.account_id = $1) AND ($2::timestamptz IS NULL OR r.bucket >= $2) GROUP BY 1, 2, 3, 4, 5) u
        USING (account_id, ${length}, api_key_id, endpoint, model)
     WHERE (${columnsOf('d', USAGE_SUMS)}) IS DISTINCT FROM (${columnsOf('u', USAGE_SUMS)})`;
}

/** I15: rows of usage_hour_totals that differ from the sums of their hours, which the statement above compares. $1 and $2 as above. */
export const TOTALS_UNLIKE_HOURS = `SELECT coalesce(t.account_id, u.account_id)::text AS object,
             'total of hour ' || coalesce(t.hour, u.hour) AS detail
      FROM (SELECT * FROM usage_hour_totals WHERE ($1::uuid IS NULL OR account_id = $1) AND ($2::timestamptz IS NULL OR hour >= $2)) t
      FULL JOIN (SELECT h.account_id, h.hour, ${sumsOf('h', CHARGE_SUMS)}
             FROM usage_hours h JOIN usage_day_marks m ON m.account_id = h.account_id AND h.hour < m.totals_until
            WHERE ($1::uuid IS NULL OR h.account_id = $1) AND ($2::timestamptz IS NULL OR h.hour >= $2) GROUP BY 1, 2) u
        USING (account_id, hour)
     WHERE (${columnsOf('t', CHARGE_SUMS)}) IS DISTINCT FROM (${columnsOf('u', CHARGE_SUMS)})`;
