import type { Migration } from './migration.types.ts';

/** What a customer owes. A migration of its own: a new value of an enum can be used only once it is committed. */
export const receivable: Migration = {
  name: '0016-receivable',
  up: `ALTER TYPE ledger_contra ADD VALUE IF NOT EXISTS 'receivable';`,
  // a value cannot be taken out of an enum again, and an unused one harms nobody
  down: '',
};
