import type { Migration } from './migration.types.ts';

/** Digests that tell an edit made around the ledger: a chain per account over its entries and their calls, one over the audit log. */
export const ledgerSeals: Migration = {
  name: '0019-ledger-seals',
  up: `
    CREATE TABLE ledger_seals (
      account_id uuid NOT NULL,
      seq bigint NOT NULL,
      -- SHA-256 over the digest before and every column of the entry and its generation
      digest bytea NOT NULL,
      PRIMARY KEY (account_id, seq)
    );
    CREATE TABLE audit_seals (
      position bigint PRIMARY KEY,
      audit_id bigint NOT NULL UNIQUE,
      digest bytea NOT NULL
    );
    -- of the last entry of a statement
    ALTER TABLE invoices ADD COLUMN digest bytea;

    CREATE FUNCTION refuse_new_amounts() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' OR to_jsonb(OLD) - 'status' IS DISTINCT FROM to_jsonb(NEW) - 'status' THEN
        RAISE EXCEPTION '% on % refused: only its status may change', TG_OP, TG_TABLE_NAME USING ERRCODE = 'TG001';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER invoices_only_status BEFORE UPDATE OR DELETE ON invoices
      FOR EACH ROW EXECUTE FUNCTION refuse_new_amounts();
    CREATE TRIGGER generations_append_only BEFORE UPDATE OR DELETE ON generations
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER ledger_seals_append_only BEFORE UPDATE OR DELETE ON ledger_seals
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER audit_seals_append_only BEFORE UPDATE OR DELETE ON audit_seals
      FOR EACH ROW EXECUTE FUNCTION refuse_change();`,
  down: `
    DROP TRIGGER generations_append_only ON generations;
    DROP TRIGGER invoices_only_status ON invoices;
    DROP FUNCTION refuse_new_amounts;
    ALTER TABLE invoices DROP COLUMN digest;
    DROP TABLE audit_seals;
    DROP TABLE ledger_seals;`,
};
