import type { SqlStatement } from '../store/statement.ts';

const COLUMNS = 'id, kind, number::integer AS number, issued_at, pdf, pdf_sha256, csv_sha256';

/** $1 id. */
export const documentById: SqlStatement = {
  name: 'document_by_id',
  text: `SELECT ${COLUMNS} FROM documents WHERE id = $1`,
};

/** $1 name of the lock. Waits for other transactions that issue the same. */
export const lockDocuments: SqlStatement = {
  name: 'lock_documents',
  text: `SELECT pg_advisory_xact_lock(hashtextextended('document/' || $1::text, 0))`,
};

/** $1 kind. → number, issued_at. Must be read under the lock of the kind, so that no number is skipped or assigned twice. */
export const nextDocumentNumber: SqlStatement = {
  name: 'next_document_number',
  text: `SELECT coalesce(max(number), 0)::integer + 1 AS number, date_trunc('milliseconds', ledger_now()) AS issued_at
           FROM documents WHERE kind = $1`,
};

/** $1 id, $2 kind, $3 account, $4 number, $5 issued at, $6 facts as JSON, $7 PDF, $8 its SHA-256, $9 SHA-256 of the CSV or NULL. */
export const insertDocument: SqlStatement = {
  name: 'insert_document',
  text: `INSERT INTO documents (id, kind, account_id, number, issued_at, facts, pdf, pdf_sha256, csv_sha256)
         VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7, $8, $9) RETURNING ${COLUMNS}`,
};

/** $1 document, $2 part, $3 content, $4 account. */
export const insertCsvPart: SqlStatement = {
  name: 'insert_csv_part',
  text: 'INSERT INTO document_csv_parts (document_id, part, content, sha256, account_id) VALUES ($1, $2, $3, sha256($3), $4)',
};

/** $1 document, $2 part. */
export const csvPart: SqlStatement = {
  name: 'csv_part',
  text: 'SELECT content FROM document_csv_parts WHERE document_id = $1 AND part = $2',
};

/** $1 account. */
export const documentBuyer: SqlStatement = {
  name: 'document_buyer',
  text: 'SELECT name, billing FROM accounts WHERE id = $1',
};
