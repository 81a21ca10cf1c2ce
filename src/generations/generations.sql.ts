import type { SqlStatement } from '../store/statement.ts';

const CLOSED = `
  SELECT g.id, g.created_at, g.request_id, g.endpoint, g.model, k.hash AS api_key_hash, g.api_key_id,
         g.status::text AS status, g.error_code, g.error_message, g.input_tokens, g.output_tokens,
         coalesce(g.cache_read_tokens, 0) AS cache_read_tokens, coalesce(g.cache_write_tokens, 0) AS cache_write_tokens,
         coalesce(g.reasoning_tokens, 0) AS reasoning_tokens, g.usage_source::text AS usage_source,
         g.charge, g.lines, g.finish_reason, g.streamed, g.latency_ms, g.first_token_ms, g.metering,
         g.completed_at, g.price_version, v.pricing
    FROM generations g JOIN api_keys k ON k.id = g.api_key_id LEFT JOIN price_versions v ON v.id = g.price_version`;

/** An open hold is a running generation; the hold of a task is queued first. */
const OPEN = `
  SELECT h.id, h.created_at, h.request_id, h.endpoint, h.model, k.hash AS api_key_hash, h.api_key_id,
         CASE WHEN t.state = 'queued' THEN 'queued' ELSE 'in_progress' END AS status, NULL, NULL, 0, 0, 0, 0, 0, 'none',
         0, '{}'::jsonb, NULL, false,
         (extract(epoch FROM statement_timestamp() - h.created_at) * 1000)::integer, NULL, NULL,
         NULL, h.price_version, v.pricing
    FROM holds h JOIN api_keys k ON k.id = h.api_key_id LEFT JOIN tasks t ON t.id = h.id
    LEFT JOIN price_versions v ON v.id = h.price_version`;

/** $1 account, $2 generation id. */
export const generationById: SqlStatement = {
  name: 'generation_by_id',
  text: `${CLOSED} WHERE g.account_id = $1 AND g.id = $2
    UNION ALL ${OPEN} WHERE h.account_id = $1 AND h.id = $2 LIMIT 1`,
};

/**
 * $1 account, $2 request id, $3–$4 the first and last id that a generation of that request can have, or NULL for an id chosen by the
 * caller. Such ids need not be unique, so the newest generation is returned.
 */
export const generationByRequest: SqlStatement = {
  name: 'generation_by_request',
  text: `SELECT * FROM (
    ${CLOSED} WHERE g.account_id = $1 AND g.request_id = $2
    UNION ALL ${CLOSED} WHERE g.account_id = $1 AND g.request_id IS NULL AND g.id BETWEEN $3::uuid AND $4::uuid
    UNION ALL ${OPEN} WHERE h.account_id = $1
       AND (h.request_id = $2 OR h.request_id IS NULL AND h.id BETWEEN $3::uuid AND $4::uuid)
  ) found ORDER BY id DESC LIMIT 1`,
};

/** Maximum number of rows scanned for one page of a filtered list. The next page continues after them. */
export const GENERATIONS_SCANNED_MAX = 10_000;

/**
 * $1 account, $2 before id or NULL, $3 lowest id, $4 key or NULL, $5 model or NULL, $6 status or NULL, $7–$8 time range or NULL, $9
 * endpoint or NULL, $10 maximum number of rows. Newest first. The inner list is limited, so a filter without matches still responds in
 * time.
 */
export const generationsPage: SqlStatement = {
  name: 'generations_page',
  text: `${CLOSED.replace(
    'FROM generations g',
    `FROM (SELECT * FROM generations WHERE account_id = $1 AND ($2::uuid IS NULL OR id < $2::uuid) AND id >= $3::uuid
            ORDER BY id DESC LIMIT ${GENERATIONS_SCANNED_MAX}) g`,
  )}
     WHERE ($4::uuid IS NULL OR g.api_key_id = $4) AND ($5::text IS NULL OR g.model = $5)
       AND ($6::text IS NULL OR g.status::text = $6)
       AND ($7::timestamptz IS NULL OR g.created_at >= $7) AND ($8::timestamptz IS NULL OR g.created_at < $8)
       AND ($9::text IS NULL OR g.endpoint = $9)
     ORDER BY g.id DESC LIMIT $10`,
};

/** $1–$3 as above. Returns the last id that a page scans; no row when it scans all there is. */
export const generationsScanned: SqlStatement = {
  name: 'generations_scanned',
  text: `SELECT id FROM generations WHERE account_id = $1 AND ($2::uuid IS NULL OR id < $2::uuid) AND id >= $3::uuid
     ORDER BY id DESC OFFSET ${GENERATIONS_SCANNED_MAX - 1} LIMIT 1`,
};
