import type { SqlStatement } from '../store/statement.ts';

/**
 * Merges what one process learned into the shared margins. A margin that grew becomes the larger of both; one that shrank lowers the
 * shared value by the same amount. $1: [{provider, model, ratio, tokens, ratioBefore, tokensBefore, reports}] as JSON.
 */
export const saveMargins: SqlStatement = {
  name: 'save_input_margins',
  text: `
    WITH learnt AS (
      SELECT * FROM jsonb_to_recordset($1::jsonb) r (
        provider text, model text, ratio float8, tokens float8, "ratioBefore" float8, "tokensBefore" float8, reports bigint))
    INSERT INTO input_margins AS known (provider, model, ratio, tokens, reports, updated_at)
    SELECT provider, model, ratio, tokens, reports, statement_timestamp() FROM learnt ORDER BY provider, model
    ON CONFLICT (provider, model) DO UPDATE
      SET (ratio, tokens) = (
            SELECT CASE WHEN l.ratio > l."ratioBefore" THEN greatest(known.ratio, l.ratio)
                        ELSE greatest(known.ratio + l.ratio - l."ratioBefore", 1) END,
                   CASE WHEN l.tokens > l."tokensBefore" THEN greatest(known.tokens, l.tokens)
                        ELSE greatest(known.tokens + l.tokens - l."tokensBefore", 0) END
              FROM learnt l WHERE l.provider = known.provider AND l.model = known.model),
          reports = known.reports + excluded.reports,
          updated_at = excluded.updated_at`,
};

/** The margins of the most recently called models. $1: maximum number of rows. */
export const readMargins: SqlStatement = {
  name: 'read_input_margins',
  text: 'SELECT provider, model, ratio, tokens FROM input_margins ORDER BY updated_at DESC LIMIT $1',
};
