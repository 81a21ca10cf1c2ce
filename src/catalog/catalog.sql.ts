import type { Statement } from '../store/statement.ts';

/** $1: [{id, model, pricing}] as JSON. */
export const savePriceVersions: Statement = {
  name: 'save_price_versions',
  text: `
    INSERT INTO price_versions (id, model, pricing)
    SELECT id, model, pricing FROM jsonb_to_recordset($1::jsonb) r (id text, model text, pricing jsonb)
    ON CONFLICT (id) DO NOTHING`,
};
