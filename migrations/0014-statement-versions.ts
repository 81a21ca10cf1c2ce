import type { Migration } from './migration.types.ts';

/** A month can be stated again: the old statement becomes void, a new version takes its place. */
export const statementVersions: Migration = {
  name: '0014-statement-versions',
  up: `
    ALTER TABLE invoices DROP CONSTRAINT invoices_period_unique,
      ADD COLUMN version integer NOT NULL DEFAULT 1 CHECK (version > 0),
      -- why and by whom it was stated again; NULL on a first version
      ADD COLUMN reissue_reason text,
      ADD COLUMN reissued_by text,
      ADD CONSTRAINT invoices_version_unique UNIQUE (account_id, period_start, version);
    -- one version of a month is in force
    CREATE UNIQUE INDEX invoices_in_force ON invoices (account_id, period_start) WHERE status <> 'void';
    -- few: what tells that a month has another version than the first
    CREATE INDEX invoices_reissued ON invoices (account_id, period_start) WHERE version > 1;
    CREATE INDEX invoices_open ON invoices (account_id) WHERE status = 'open';`,
  down: `
    DELETE FROM invoices i WHERE i.version < (SELECT max(o.version) FROM invoices o
      WHERE o.account_id = i.account_id AND o.period_start = i.period_start);
    DROP INDEX invoices_open;
    DROP INDEX invoices_reissued;
    DROP INDEX invoices_in_force;
    ALTER TABLE invoices DROP CONSTRAINT invoices_version_unique,
      DROP COLUMN reissued_by,
      DROP COLUMN reissue_reason,
      DROP COLUMN version,
      ADD CONSTRAINT invoices_period_unique UNIQUE (account_id, period_start);`,
};
