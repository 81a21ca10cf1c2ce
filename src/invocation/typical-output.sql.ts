import type { SqlStatement } from '../store/statement.ts';

/** Calls of an account, newest first, among which those of a model are looked for. */
const CALLS_SCANNED_MAX = 5_000;

/** $1 account, $2 model, $3 how many calls count. → calls, output_tokens: the median of those that ended well */
export const typicalOutput: SqlStatement = {
  name: 'typical_output',
  text: `
    SELECT count(*)::integer AS calls, percentile_disc(0.5) WITHIN GROUP (ORDER BY output_tokens) AS output_tokens
      FROM (SELECT recent.output_tokens
              FROM (SELECT id, model, status, output_tokens FROM generations
                     WHERE account_id = $1 ORDER BY id DESC LIMIT ${CALLS_SCANNED_MAX}) recent
             WHERE recent.model = $2 AND recent.status = 'completed' ORDER BY recent.id DESC LIMIT $3) calls`,
};
