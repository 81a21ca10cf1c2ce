import type { SqlStatement } from '../store/statement.ts';

/** Most recent calls of an account that are searched for calls to the model. */
const CALLS_SCANNED_MAX = 5_000;

/** $1 account, $2 model, $3 maximum calls to use. Returns calls and output_tokens: the median of the completed calls. */
export const typicalOutput: SqlStatement = {
  name: 'typical_output',
  text: `
    SELECT count(*)::integer AS calls, percentile_disc(0.5) WITHIN GROUP (ORDER BY output_tokens) AS output_tokens
      FROM (SELECT recent.output_tokens
              FROM (SELECT id, model, status, output_tokens FROM generations
                     WHERE account_id = $1 ORDER BY id DESC LIMIT ${CALLS_SCANNED_MAX}) recent
             WHERE recent.model = $2 AND recent.status = 'completed' ORDER BY recent.id DESC LIMIT $3) calls`,
};
