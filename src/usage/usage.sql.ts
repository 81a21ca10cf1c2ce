import { CHARGE_SUMS, USAGE_SUMS } from '../ledger/usage-sums.ts';
import type { SqlStatement } from '../store/statement.ts';

/** Unites parts of an account's sums: the n-th [table, its time] from parameter n + 2 to parameter n + 3. $1 is the account. */
function united(columns: string, parts: readonly (readonly [table: string, time: string])[]): string {
  const read = parts.map(
    ([table, time], place) =>
      `SELECT ${time} AS at, ${columns} FROM ${table} WHERE account_id = $1 AND ${time} >= $${place + 2} AND ${time} < $${place + 3}`,
  );
  return `(${read.join(' UNION ALL ')}) p`;
}

const ROLLUPS = ['usage_rollups', 'bucket'] as const;
const HOURS = ['usage_hours', 'hour'] as const;

/**
 * $1 account, $2 ≤ … ≤ $7: five-minute roll-ups from $2 to $3, hours to $4, days to $5, hours to $6, roll-ups to $7. Hours and days must
 * be filled. A part with equal ends is not read.
 */
const PERIODS = united(`api_key_id, endpoint, model, ${USAGE_SUMS.join(', ')}`, [
  ROLLUPS,
  HOURS,
  ['usage_days', 'day'],
  HOURS,
  ROLLUPS,
]);

/** $1 account, $2 ≤ … ≤ $5: five-minute roll-ups from $2 to $3, totals of hours to $4, roll-ups to $5. Totals must be filled. */
const TOTALS = united(CHARGE_SUMS.join(', '), [ROLLUPS, ['usage_hour_totals', 'hour'], ROLLUPS]);

/** The line items of a row `s` of sums that cost anything, in the order of their positions. */
const ITEMS = `(
      SELECT * FROM (VALUES
          (1, 'input', s.input), (2, 'output', s.output), (3, 'cache_read', s.cache_read),
          (4, 'cache_write', s.cache_write), (5, 'reasoning', s.reasoning), (6, 'request', s.request),
          (7, 'image', s.image), (8, 'video', s.video)) v (position, line_item, amount)
       WHERE v.amount <> 0) i`;

const ITEM_SUMS = CHARGE_SUMS.map((name) => `sum(${name}) AS ${name.slice('charge_'.length)}`).join(', ');

/**
 * $1 account. Returns filled_until: hours before it, and days that ended before it, are filled, and with has_totals the totals of those
 * hours. No row when none is.
 */
export const filledUntil: SqlStatement = {
  name: 'usage_filled_until',
  text: 'SELECT filled_until, totals_until = filled_until AS has_totals FROM usage_day_marks WHERE account_id = $1',
};

/**
 * $1–$7 as above, $8 bucket length as interval, $9 key or NULL, $10 model or NULL, $11–$13 position of the last row before this page
 * (period, model, key) or NULL, $14 maximum rows.
 */
export const usageRows: SqlStatement = {
  name: 'usage_rows',
  text: `
    WITH sums AS (
      SELECT date_bin($8::interval, p.at, 'epoch'::timestamptz) AS period_start, model, api_key_id,
             sum(requests) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
             sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens,
             sum(reasoning_tokens) AS reasoning_tokens
        FROM ${PERIODS}
       WHERE ($9::uuid IS NULL OR api_key_id = $9::uuid) AND ($10::text IS NULL OR model = $10::text)
       GROUP BY 1, 2, 3)
    SELECT s.*, k.hash AS api_key_hash FROM sums s JOIN api_keys k ON k.id = s.api_key_id
     WHERE $11::timestamptz IS NULL
        OR (s.period_start, s.model, s.api_key_id) > ($11::timestamptz, $12::text, $13::uuid)
     ORDER BY s.period_start, s.model, s.api_key_id LIMIT $14`,
};

/**
 * Rows by day, endpoint, model and key. $1–$7 as above, $8 key or NULL, $9–$12 position of the last row before this page (period,
 * endpoint, model, key) or NULL, $13 maximum rows.
 */
export const activityRows: SqlStatement = {
  name: 'activity_rows',
  text: `
    WITH sums AS (
      SELECT date_bin('1 day', p.at, 'epoch'::timestamptz) AS period_start, endpoint, model, api_key_id,
             sum(requests) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
             sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens,
             sum(reasoning_tokens) AS reasoning_tokens, sum(charge) AS charge
        FROM ${PERIODS}
       WHERE ($8::uuid IS NULL OR api_key_id = $8::uuid)
       GROUP BY 1, 2, 3, 4)
    SELECT s.*, k.hash AS api_key_hash FROM sums s JOIN api_keys k ON k.id = s.api_key_id
     WHERE $9::timestamptz IS NULL
        OR (s.period_start, s.endpoint, s.model, s.api_key_id) > ($9::timestamptz, $10::text, $11::text, $12::uuid)
     ORDER BY s.period_start, s.endpoint, s.model, s.api_key_id LIMIT $13`,
};

/**
 * One row per line item that cost anything. $1–$7 as above, $8 bucket length as interval, $9 key or NULL, $10 by model?, $11 by key?, $12
 * by endpoint?, $13–$17 position of the last row before this page (period, model, key, endpoint, item) or NULL, $18 maximum rows. Columns
 * that are not grouped by are NULL, and '' in comparisons.
 */
export const costRows: SqlStatement = {
  name: 'cost_rows',
  text: `
    WITH sums AS (
      SELECT date_bin($8::interval, p.at, 'epoch'::timestamptz) AS period_start,
             CASE WHEN $10::boolean THEN model END AS model,
             CASE WHEN $11::boolean THEN api_key_id END AS api_key_id,
             CASE WHEN $12::boolean THEN endpoint END AS endpoint,
             ${ITEM_SUMS}
        FROM ${PERIODS}
       WHERE ($9::uuid IS NULL OR api_key_id = $9::uuid)
       GROUP BY 1, 2, 3, 4),
    items AS (
      SELECT s.period_start, s.model, s.api_key_id, s.endpoint, i.position, i.line_item, i.amount,
             coalesce(s.model, '') AS model_key, coalesce(s.api_key_id::text, '') AS key_key,
             coalesce(s.endpoint, '') AS endpoint_key
        FROM sums s CROSS JOIN LATERAL ${ITEMS})
    SELECT i.period_start, i.model, i.api_key_id, i.endpoint, i.position, i.line_item, i.amount, k.hash AS api_key_hash
      FROM items i LEFT JOIN api_keys k ON k.id = i.api_key_id
     WHERE $13::timestamptz IS NULL
        OR (i.period_start, i.model_key, i.key_key, i.endpoint_key, i.position)
           > ($13::timestamptz, $14::text, $15::text, $16::text, $17::integer)
     ORDER BY i.period_start, i.model_key, i.key_key, i.endpoint_key, i.position LIMIT $18`,
};

/**
 * Like {@link costRows} for all keys and without groups: reads the totals of hours, however many keys and models an account has. $1–$5 as
 * above, $6 bucket length as interval, $7–$8 position of the last row before this page (period, item) or NULL, $9 maximum rows.
 */
export const totalCostRows: SqlStatement = {
  name: 'total_cost_rows',
  text: `
    WITH sums AS (
      SELECT date_bin($6::interval, p.at, 'epoch'::timestamptz) AS period_start, ${ITEM_SUMS} FROM ${TOTALS} GROUP BY 1)
    SELECT s.period_start, NULL AS model, NULL AS api_key_id, NULL AS endpoint, i.position, i.line_item, i.amount, NULL AS api_key_hash
      FROM sums s CROSS JOIN LATERAL ${ITEMS}
     WHERE $7::timestamptz IS NULL OR (s.period_start, i.position) > ($7::timestamptz, $8::integer)
     ORDER BY s.period_start, i.position LIMIT $9`,
};

/**
 * $1 account, $2 ≤ id < $3, $4 ≤ time < $5, $6 bucket length as interval, $7 key or NULL, $8 model or NULL, $9–$10 position of the last
 * row before this page (period, model) or NULL, $11 maximum rows, $12 maximum calls to read, newest first. Times in ms cover completed
 * calls only; percentiles skip calls without such a time.
 */
export const performanceRows: SqlStatement = {
  name: 'performance_rows',
  text: `
    WITH calls AS (
      SELECT date_bin($6::interval, created_at, 'epoch'::timestamptz) AS period_start, model, output_tokens, latency_ms, first_token_ms,
             status = 'completed' AS is_well
        FROM generations
       WHERE account_id = $1 AND id >= $2::uuid AND id < $3::uuid AND created_at >= $4 AND created_at < $5
         AND ($7::uuid IS NULL OR api_key_id = $7::uuid) AND ($8::text IS NULL OR model = $8::text)
       ORDER BY id DESC LIMIT $12)
    SELECT period_start, model, count(*)::integer AS requests, count(*) FILTER (WHERE NOT is_well)::integer AS failed,
           percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY first_token_ms) FILTER (WHERE is_well AND first_token_ms IS NOT NULL) AS first_token,
           percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY latency_ms) FILTER (WHERE is_well) AS latency,
           (sum(output_tokens) FILTER (WHERE is_well AND output_tokens > 1) * 1000.0
             / nullif(sum(latency_ms - coalesce(first_token_ms, 0)) FILTER (WHERE is_well AND output_tokens > 1), 0))::float8 AS tokens_per_second
      FROM calls
     WHERE $9::timestamptz IS NULL OR (period_start, model) > ($9::timestamptz, $10::text)
     GROUP BY 1, 2 ORDER BY 1, 2 LIMIT $11`,
};
