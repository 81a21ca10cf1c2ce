import type { Seller } from '../catalog/catalog.types.ts';
import type { StatementIssuer } from '../ledger/month-close.ts';
import { systemClock } from '../lib/clock.ts';
import { invariant } from '../lib/errors.ts';
import { formatUsd } from '../lib/money.ts';
import type { DocumentsStore, Printed } from './documents.store.ts';
import type { IssuedDocument } from './documents.types.ts';
import { presentInvoice } from './invoices.presenter.ts';
import { type InvoiceRow, InvoicesReadModel } from './invoices.read-model.ts';
import { InvoicesService } from './invoices.service.ts';
import { statementCsv } from './statement-csv.ts';
import { StatementLines } from './statement-lines.ts';
import { type StatementDocument, statementPdf } from './statement-pdf.ts';

export interface StatementDocumentParts {
  readonly store: DocumentsStore;
  readonly readModel: InvoicesReadModel;
  /** The same read model with prepared statements: fifty thousand statements are read at the end of a month. */
  readonly issuing: InvoicesReadModel;
  readonly invoices: InvoicesService;
  /** The seller currently in tollgate.yaml. */
  readonly seller: () => Seller | undefined;
  /** Base of the links in a PDF, without a trailing slash. */
  readonly publicUrl: string;
}

/** Statements as documents: a final statement as it was issued, any other in its current state. */
export class StatementDocuments implements StatementIssuer {
  readonly #parts: StatementDocumentParts;

  constructor(parts: StatementDocumentParts) {
    this.#parts = parts;
  }

  /** Issues the closed statements of an account that are about to become final. */
  async issueOpen(accountId: string): Promise<void> {
    for (const row of await this.#parts.issuing.open(accountId)) {
      await this.#issue(accountId, row);
    }
  }

  /**
   * Returns the document of a final statement, or undefined for one that may still change. A statement of an earlier
   * release is issued at the first request.
   */
  async issued(accountId: string, row: InvoiceRow): Promise<IssuedDocument | undefined> {
    if (row.id === null || row.status === 'open') {
      return undefined;
    }
    return (await this.#parts.store.find(accountId, row.id)) ?? (await this.#issue(accountId, row));
  }

  /** Returns the PDF of a statement in its current state. */
  async draftPdf(accountId: string, row: InvoiceRow): Promise<Buffer> {
    const lines = new StatementLines();
    for await (const _ of lines.through(this.#parts.invoices.lines(accountId, row))) {
      // `lines` records what passes through
    }
    const facts = await this.#facts(accountId, row, this.#parts.readModel);
    const { pdf } = await print(facts, lines, { number: undefined, issuedAt: new Date(systemClock.now()) });
    return pdf;
  }

  /** Reads the stored CSV of an issued statement of the account. */
  storedCsv(accountId: string, document: IssuedDocument): AsyncGenerator<Buffer> {
    return this.#parts.store.csv(accountId, document.id);
  }

  async #issue(accountId: string, row: InvoiceRow): Promise<IssuedDocument> {
    invariant(row.id !== null, 'only a closed statement is issued');
    const lines = new StatementLines();
    // read before the transaction that holds the lock of the number, for which others wait
    const final: InvoiceRow = row.status === 'open' ? { ...row, status: 'paid' } : row;
    const facts = await this.#facts(accountId, final, this.#parts.issuing);
    return this.#parts.store.issue({
      id: row.id,
      kind: 'statement',
      accountId,
      csv: (read) => {
        const movements = new InvoicesService(new InvoicesReadModel(() => read)).lines(accountId, row);
        return statementCsv(lines.through(movements), accountId);
      },
      print: (number, issuedAt) => print(facts, lines, { number, issuedAt }),
    });
  }

  async #facts(accountId: string, row: InvoiceRow, readModel: InvoicesReadModel): Promise<StatementFacts> {
    const { store, publicUrl, seller } = this.#parts;
    return {
      accountId,
      publicUrl,
      invoice: presentInvoice(row, accountId),
      seller: seller(),
      buyer: await store.buyer(accountId),
      digest: row.digest,
      sums: await readModel.sums(accountId, row),
      owed: await readModel.owed(accountId, row),
      isOver: row.is_over,
    };
  }
}

type StatementFacts = Omit<StatementDocument, 'number' | 'issuedAt' | 'lines'>;

async function print(
  facts: StatementFacts,
  lines: StatementLines,
  issue: Pick<StatementDocument, 'number' | 'issuedAt'>,
): Promise<Printed> {
  const { invoice, seller, buyer, digest, sums, owed } = facts;
  const pdf = await statementPdf({ ...facts, ...issue, lines });
  return { pdf, facts: { invoice, seller, buyer, digest, sums, owed: formatUsd(owed) } };
}
