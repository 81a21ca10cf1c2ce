import type { Migration } from './migration.types.ts';

/** Pools that a worker leaves alone because an operator has to mend their engine; they are among those that rest. */
export const misconfiguredPools: Migration = {
  name: '0085-misconfigured-pools',
  up: "ALTER TABLE workers ADD COLUMN misconfigured text[] NOT NULL DEFAULT '{}';",
  down: 'ALTER TABLE workers DROP COLUMN misconfigured;',
};
