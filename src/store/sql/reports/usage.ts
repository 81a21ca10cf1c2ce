import type { Statement } from '../../statement.ts';

/**
 * $1 account, $2 start and $3 end of the scanned roll-ups, $4 bucket length as interval, $5 key or NULL, $6 model or NULL,
 * $7–$9 position of the last row before this page (period, model, key) or NULL, $10 how many rows.
 */
export const usageRows: Statement = {
  name: 'usage_rows',
  text: `
    WITH sums AS (
      SELECT date_bin($4::interval, bucket, 'epoch'::timestamptz) AS period_start, model, api_key_id,
             sum(requests) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
             sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens,
             sum(reasoning_tokens) AS reasoning_tokens
        FROM usage_rollups
       WHERE account_id = $1 AND bucket >= $2 AND bucket < $3
         AND ($5::uuid IS NULL OR api_key_id = $5::uuid) AND ($6::text IS NULL OR model = $6::text)
       GROUP BY 1, 2, 3)
    SELECT s.*, k.hash AS api_key_hash FROM sums s JOIN api_keys k ON k.id = s.api_key_id
     WHERE $7::timestamptz IS NULL
        OR (s.period_start, s.model, s.api_key_id) > ($7::timestamptz, $8::text, $9::uuid)
     ORDER BY s.period_start, s.model, s.api_key_id LIMIT $10`,
};

/**
 * By day, endpoint, model and key. $1 account, $2 start, $3 end, $4 key or NULL, $5–$8 position of the last row (period,
 * endpoint, model, key) or NULL, $9 how many rows.
 */
export const activityRows: Statement = {
  name: 'activity_rows',
  text: `
    WITH sums AS (
      SELECT date_bin('1 day', bucket, 'epoch'::timestamptz) AS period_start, endpoint, model, api_key_id,
             sum(requests) AS requests, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
             sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens,
             sum(reasoning_tokens) AS reasoning_tokens, sum(charge) AS charge
        FROM usage_rollups
       WHERE account_id = $1 AND bucket >= $2 AND bucket < $3 AND ($4::uuid IS NULL OR api_key_id = $4::uuid)
       GROUP BY 1, 2, 3, 4)
    SELECT s.*, k.hash AS api_key_hash FROM sums s JOIN api_keys k ON k.id = s.api_key_id
     WHERE $5::timestamptz IS NULL
        OR (s.period_start, s.endpoint, s.model, s.api_key_id) > ($5::timestamptz, $6::text, $7::text, $8::uuid)
     ORDER BY s.period_start, s.endpoint, s.model, s.api_key_id LIMIT $9`,
};

/**
 * One row per line item that cost anything. $1 account, $2 start, $3 end, $4 bucket length as interval, $5 key or NULL,
 * $6 by model?, $7 by key?, $8 by endpoint?, $9–$13 position of the last row (period, model, key, endpoint, item) or
 * NULL, $14 how many rows. What is not grouped by is NULL, and '' where it is compared.
 */
export const costRows: Statement = {
  name: 'cost_rows',
  text: `
    WITH sums AS (
      SELECT date_bin($4::interval, bucket, 'epoch'::timestamptz) AS period_start,
             CASE WHEN $6::boolean THEN model END AS model,
             CASE WHEN $7::boolean THEN api_key_id END AS api_key_id,
             CASE WHEN $8::boolean THEN endpoint END AS endpoint,
             sum(charge_input) AS input, sum(charge_output) AS output, sum(charge_cache_read) AS cache_read,
             sum(charge_cache_write) AS cache_write, sum(charge_reasoning) AS reasoning, sum(charge_request) AS request,
             sum(charge_image) AS image, sum(charge_video) AS video
        FROM usage_rollups
       WHERE account_id = $1 AND bucket >= $2 AND bucket < $3 AND ($5::uuid IS NULL OR api_key_id = $5::uuid)
       GROUP BY 1, 2, 3, 4),
    items AS (
      SELECT s.period_start, s.model, s.api_key_id, s.endpoint, i.position, i.line_item, i.amount,
             coalesce(s.model, '') AS model_key, coalesce(s.api_key_id::text, '') AS key_key,
             coalesce(s.endpoint, '') AS endpoint_key
        FROM sums s CROSS JOIN LATERAL (VALUES
          (1, 'input', s.input), (2, 'output', s.output), (3, 'cache_read', s.cache_read),
          (4, 'cache_write', s.cache_write), (5, 'reasoning', s.reasoning), (6, 'request', s.request),
          (7, 'image', s.image), (8, 'video', s.video)) i (position, line_item, amount)
       WHERE i.amount <> 0)
    SELECT i.*, k.hash AS api_key_hash FROM items i LEFT JOIN api_keys k ON k.id = i.api_key_id
     WHERE $9::timestamptz IS NULL
        OR (i.period_start, i.model_key, i.key_key, i.endpoint_key, i.position)
           > ($9::timestamptz, $10::text, $11::text, $12::text, $13::integer)
     ORDER BY i.period_start, i.model_key, i.key_key, i.endpoint_key, i.position LIMIT $14`,
};
