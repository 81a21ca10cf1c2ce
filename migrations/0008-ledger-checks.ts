import type { Migration } from './migration.types.ts';

/** What the checks of the books found, and up to where each account has been proven. */
export const ledgerChecks: Migration = {
  name: '0008-ledger-checks',
  up: `
    CREATE TABLE ledger_checks (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('full', 'incremental')),
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      accounts bigint NOT NULL,
      violations jsonb NOT NULL,
      duration_ms integer NOT NULL
    );
    CREATE INDEX ledger_checks_latest ON ledger_checks (kind, at DESC);

    -- The chain of an account is proven up to here; the next incremental check begins behind it.
    CREATE TABLE ledger_watermarks (
      account_id uuid PRIMARY KEY,
      seq bigint NOT NULL,
      balance bigint NOT NULL,
      at timestamptz NOT NULL
    );
  `,
  down: `
    DROP TABLE ledger_watermarks;
    DROP TABLE ledger_checks;
  `,
};
