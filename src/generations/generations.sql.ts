import type { Statement } from '../store/statement.ts';

const CLOSED = `
  SELECT g.id, g.created_at, g.request_id, g.endpoint, g.model, k.hash AS api_key_hash, g.api_key_id,
         g.status::text AS status, g.error_code, g.error_message, g.input_tokens, g.output_tokens,
         g.cache_read_tokens, g.cache_write_tokens, g.reasoning_tokens, g.usage_source::text AS usage_source,
         g.charge, g.lines, g.finish_reason, g.streamed, g.latency_ms, g.first_token_ms, g.metering
    FROM generations g JOIN api_keys k ON k.id = g.api_key_id`;

/** A hold that is still open is a generation in the making; a task's waits in a queue first. */
const OPEN = `
  SELECT h.id, h.created_at, h.request_id, h.endpoint, h.model, k.hash AS api_key_hash, h.api_key_id,
         CASE WHEN t.state = 'queued' THEN 'queued' ELSE 'in_progress' END AS status, NULL, NULL, 0, 0, 0, 0, 0, 'none',
         0, '{}'::jsonb, NULL, false,
         (extract(epoch FROM clock_timestamp() - h.created_at) * 1000)::integer, NULL, NULL
    FROM holds h JOIN api_keys k ON k.id = h.api_key_id LEFT JOIN tasks t ON t.id = h.id`;

/** $1 account, $2 generation id. */
export const generationById: Statement = {
  name: 'generation_by_id',
  text: `${CLOSED} WHERE g.account_id = $1 AND g.id = $2
    UNION ALL ${OPEN} WHERE h.account_id = $1 AND h.id = $2 LIMIT 1`,
};

/** $1 account, $2 request id. A caller's request id need not be unique: the newest generation is meant. */
export const generationByRequest: Statement = {
  name: 'generation_by_request',
  text: `SELECT * FROM (
    ${CLOSED} WHERE g.account_id = $1 AND g.request_id = $2
    UNION ALL ${OPEN} WHERE h.account_id = $1 AND h.request_id = $2
  ) found ORDER BY id DESC LIMIT 1`,
};
