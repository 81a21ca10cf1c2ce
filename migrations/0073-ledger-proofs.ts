import type { Migration } from './migration.types.ts';

/** Where nightly proofs go on: what is proven of each account, and when each statement was proven last. */
export const ledgerProofs: Migration = {
  name: '0073-ledger-proofs',
  up: `
    CREATE TABLE ledger_proofs (
      account_id uuid PRIMARY KEY,
      -- what was booked before it is proven, and adds up to the rest of the row; a multiple of five minutes, as roll-ups are
      until timestamptz NOT NULL,
      seq bigint NOT NULL,
      balance bigint NOT NULL,
      used bigint NOT NULL,
      debt bigint NOT NULL,
      -- of the last entry; NULL: there is none, or it was not sealed yet
      digest bytea
    );
    -- a key without a row has spent nothing
    CREATE TABLE ledger_key_proofs (
      api_key_id uuid PRIMARY KEY,
      account_id uuid NOT NULL,
      spent bigint NOT NULL
    );
    -- a statement without a row was proven when it was made
    CREATE TABLE statement_proofs (
      statement_id uuid PRIMARY KEY,
      account_id uuid NOT NULL,
      proven_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    ALTER TABLE ledger_checks DROP CONSTRAINT ledger_checks_kind_check;
    ALTER TABLE ledger_checks ADD CONSTRAINT ledger_checks_kind_check CHECK (kind IN ('full', 'nightly', 'incremental')) NOT VALID;
    ALTER TABLE ledger_checks VALIDATE CONSTRAINT ledger_checks_kind_check;
  `,
  down: `
    DELETE FROM ledger_checks WHERE kind = 'nightly';
    ALTER TABLE ledger_checks DROP CONSTRAINT ledger_checks_kind_check;
    ALTER TABLE ledger_checks ADD CONSTRAINT ledger_checks_kind_check CHECK (kind IN ('full', 'incremental'));
    DROP TABLE statement_proofs;
    DROP TABLE ledger_key_proofs;
    DROP TABLE ledger_proofs;
  `,
};
