import type { Migration } from './migration.types.ts';

/** A call with fallback models is held for the first of them and settled for the one that answered. */
export const servedModel: Migration = {
  name: '0031-served-model',
  up: 'ALTER TYPE hold_settlement ADD ATTRIBUTE model text, ADD ATTRIBUTE price_version text;',
  down: 'ALTER TYPE hold_settlement DROP ATTRIBUTE model, DROP ATTRIBUTE price_version;',
};
