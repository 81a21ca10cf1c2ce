import type { SqlStatement } from '../store/statement.ts';

/** $1: [{id, model, pricing}] as JSON; $2: the actor, i.e. the name of the catalog. */
export const recordPrices: SqlStatement = {
  name: 'record_prices',
  text: 'SELECT record_prices($1::jsonb, $2)',
};
