import { createHash } from 'node:crypto';
import type pg from 'pg';
import { invariant } from '../lib/errors.ts';
import type { Cells } from '../store/cells.ts';
import { jsonParameter, preparedReads, type ReadRows, run } from '../store/statement.ts';
import {
  csvPart,
  documentBuyer,
  documentById,
  insertCsvPart,
  insertDocument,
  lockDocuments,
  nextDocumentNumber,
} from './documents.sql.ts';
import type { DocumentKind, IssuedDocument, Party } from './documents.types.ts';

export interface NewDocument {
  readonly id: string;
  readonly kind: DocumentKind;
  readonly accountId: string;
  /**
   * Lines of its CSV, read before `print` is called; undefined when it has none. They must be read by `read`, the transaction's own
   * connection: waiting for another connection of the pool could deadlock.
   */
  readonly csv: ((read: ReadRows) => AsyncIterable<string>) | undefined;
  /** Prints the document under its number. */
  readonly print: (number: number, issuedAt: Date) => Promise<Printed>;
}

export interface Printed {
  readonly pdf: Buffer;
  /** The content of the document, as data. */
  readonly facts: object;
}

interface DocumentRow {
  readonly id: string;
  readonly kind: DocumentKind;
  readonly number: number;
  readonly issued_at: Date;
  readonly pdf: Buffer;
  readonly pdf_sha256: Buffer;
  readonly csv_sha256: Buffer | null;
}

/** Maximum size of a part, which is held in memory as a whole. */
const PART_BYTES = 1 << 20;

/** Issued documents: written once, numbered without gaps, read back byte for byte. */
export class DocumentsStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(accountId: string, id: string): Promise<IssuedDocument | undefined> {
    const [row] = await run<DocumentRow>(this.#cells.of(accountId).money, documentById, [id]);
    return row && issued(row);
  }

  /** Returns who the account's documents are addressed to. */
  async buyer(accountId: string): Promise<Party> {
    const [row] = await run<{ name: string; billing: Party | null }>(
      this.#cells.of(accountId).money,
      documentBuyer,
      [accountId],
    );
    invariant(row, `account ${accountId} is there`);
    return row.billing ?? { name: row.name, address: [], tax_id: null };
  }

  /** Reads the stored CSV of a document of the account, in parts of at most 1 MiB. */
  async *csv(accountId: string, id: string): AsyncGenerator<Buffer> {
    for (let part = 0; ; part += 1) {
      const [row] = await run<{ content: Buffer }>(this.#cells.of(accountId).money, csvPart, [id, part]);
      if (!row) {
        return;
      }
      yield row.content;
    }
  }

  /** Issues a document, or returns it as issued before. Stores all of it or nothing; a number is used only if the document is stored. */
  async issue(document: NewDocument): Promise<IssuedDocument> {
    const client = await this.#cells.of(document.accountId).money.connect();
    let broken: Error | undefined;
    try {
      await client.query('BEGIN');
      await run(client, lockDocuments, [document.id]);
      const [before] = await run<DocumentRow>(client, documentById, [document.id]);
      const row = before ?? (await write(client, document));
      await client.query('COMMIT');
      return issued(row);
    } catch (error) {
      broken = error as Error;
      throw error;
    } finally {
      // a connection in an unknown state is not returned to the pool: closing it rolls back
      client.release(broken);
    }
  }
}

async function write(client: pg.PoolClient, document: NewDocument): Promise<DocumentRow> {
  const { id, kind, accountId, csv, print } = document;
  const csvSha256 = csv === undefined ? null : await writeCsv(client, document, csv(preparedReads(client)));
  await run(client, lockDocuments, [kind]);
  const [next] = await run<{ number: number; issued_at: Date }>(client, nextDocumentNumber, [kind]);
  invariant(next, 'there is always a next number');
  const { pdf, facts } = await print(next.number, next.issued_at);
  const sha256 = createHash('sha256').update(pdf).digest();
  const values = [id, kind, accountId, next.number, next.issued_at, jsonParameter(facts), pdf, sha256];
  const [row] = await run<DocumentRow>(client, insertDocument, [...values, csvSha256]);
  invariant(row, 'an inserted document is returned');
  return row;
}

async function writeCsv(
  client: pg.PoolClient,
  { id, accountId }: Pick<NewDocument, 'id' | 'accountId'>,
  lines: AsyncIterable<string>,
): Promise<Buffer> {
  const hash = createHash('sha256');
  let waiting: string[] = [];
  let length = 0;
  let part = 0;
  const flush = async () => {
    const content = Buffer.from(waiting.join(''));
    hash.update(content);
    await run(client, insertCsvPart, [id, part, content, accountId]);
    part += 1;
    waiting = [];
    length = 0;
  };
  for await (const line of lines) {
    if (length > 0 && length + Buffer.byteLength(line) > PART_BYTES) {
      await flush();
    }
    waiting.push(line);
    length += Buffer.byteLength(line);
  }
  await flush();
  return hash.digest();
}

function issued(row: DocumentRow): IssuedDocument {
  const { id, kind, number, pdf } = row;
  return {
    id,
    kind,
    number,
    issuedAt: row.issued_at,
    pdf,
    pdfSha256: row.pdf_sha256,
    csvSha256: row.csv_sha256,
  };
}
