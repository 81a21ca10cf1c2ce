import type { Migration } from './migration.types.ts';

/** Statements and receipts as they were issued: numbered, and kept byte by byte. */
export const documents: Migration = {
  name: '0024-documents',
  up: `
    -- {name, address: [line], tax_id}: what documents call the customer; NULL: the account's name alone
    ALTER TABLE accounts ADD COLUMN billing jsonb;

    CREATE TABLE documents (
      -- of the statement, or the checkout session of the receipt
      id uuid PRIMARY KEY,
      kind text NOT NULL CHECK (kind IN ('statement', 'receipt')),
      account_id uuid NOT NULL REFERENCES accounts (id),
      -- without gaps within its kind
      number bigint NOT NULL CHECK (number > 0),
      issued_at timestamptz NOT NULL,
      -- what it says: seller, buyer, sums
      facts jsonb NOT NULL,
      pdf bytea NOT NULL,
      pdf_sha256 bytea NOT NULL,
      -- of all parts of the CSV together; NULL on a receipt
      csv_sha256 bytea,
      UNIQUE (kind, number)
    );
    CREATE INDEX documents_account ON documents (account_id);
    CREATE TABLE document_csv_parts (
      document_id uuid NOT NULL REFERENCES documents (id) DEFERRABLE INITIALLY DEFERRED,
      part integer NOT NULL,
      content bytea NOT NULL,
      sha256 bytea NOT NULL,
      PRIMARY KEY (document_id, part)
    );
    CREATE TRIGGER documents_append_only BEFORE UPDATE OR DELETE ON documents
      FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER document_csv_parts_append_only BEFORE UPDATE OR DELETE ON document_csv_parts
      FOR EACH ROW EXECUTE FUNCTION refuse_change();`,
  down: `
    DROP TABLE document_csv_parts;
    DROP TABLE documents;
    ALTER TABLE accounts DROP COLUMN billing;`,
};
