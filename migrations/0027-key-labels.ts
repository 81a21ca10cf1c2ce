import type { Migration } from './migration.types.ts';

/** Support is told a key by its masked form. */
export const keyLabels: Migration = {
  name: '0027-key-labels',
  up: 'CREATE INDEX api_keys_label ON api_keys (label);',
  down: 'DROP INDEX api_keys_label;',
};
