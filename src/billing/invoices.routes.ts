import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { linkHeader } from '../http/answers/page.ts';
import type { Route } from '../http/route.ts';
import { defineRoute } from '../http/route.ts';
import { presentInvoice } from './invoices.presenter.ts';
import type { InvoiceRow } from './invoices.read-model.ts';
import { invoiceListResponse, invoiceParams, invoiceResponse, listInvoicesQuery } from './invoices.schema.ts';
import type { InvoicesService } from './invoices.service.ts';
import { statementCsv } from './statement-csv.ts';
import type { StatementDocuments } from './statement-documents.ts';
import { type StatementFormat, statementFormat } from './statement-format.ts';
import { transactionId } from './transaction-id.ts';

const TRANSACTIONS_LISTED_MAX = 10_000;
const billing = { method: 'get', tag: 'Billing', access: 'owner', envelope: 'data' } as const;

export interface InvoiceRoutesOptions {
  readonly invoices: InvoicesService;
  readonly documents: StatementDocuments;
}

/** `/api/v1/billing/invoices`. */
export function invoiceRoutes({ invoices, documents }: InvoiceRoutesOptions): Route[] {
  return [
    defineRoute({
      ...billing,
      path: '/api/v1/billing/invoices',
      operationId: 'listInvoices',
      summary: 'List the monthly statements, newest first, with the current month as a draft',
      query: listInvoicesQuery,
      response: { status: 200, schema: invoiceListResponse },
      errors: ['invalid_cursor'],
      async handle({ principal, query, url }) {
        const page = await invoices.list(principal.accountId, query);
        const data = page.rows.map((row) => presentInvoice(row, principal.accountId));
        return { headers: linkHeader(url, page.next), body: { data } };
      },
    }),
    defineRoute({
      ...billing,
      path: '/api/v1/billing/invoices/{invoice_id}',
      operationId: 'getInvoice',
      summary: 'Get a statement: as JSON, or as PDF or CSV if the Accept header or a suffix asks for it',
      params: invoiceParams,
      response: {
        status: 200,
        schema: invoiceResponse,
        mediaTypes: ['application/json', 'application/pdf', 'text/csv'],
      },
      errors: ['invoice_not_found'],
      async handle({ principal, params, headers, response }) {
        const { accountId } = principal;
        const { id, form } = statementFormat(params.invoice_id, headers.accept);
        const row = await invoices.get(accountId, id);
        const lines = invoices.lines(accountId, row);
        if (form === 'json') {
          const ids = await transactionIds(lines);
          const data = presentInvoice(row, accountId);
          return { body: { data, ...(ids && { balance_transactions: ids }) } };
        }
        const document = await documents.issued(accountId, row);
        const pdf = form === 'pdf' && (document?.pdf ?? (await documents.draftPdf(accountId, row)));
        nameFile(response, form, row);
        if (document) {
          nameDigest(response, pdf ? document.pdfSha256 : document.csvSha256);
        }
        if (pdf) {
          response.end(pdf);
          return undefined;
        }
        const csv = document ? documents.storedCsv(accountId, document) : statementCsv(lines, accountId);
        await pipeline(Readable.from(csv), response);
        return undefined;
      },
    }),
  ];
}

const TYPES: Readonly<Record<StatementFormat, string>> = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8',
  pdf: 'application/pdf',
};

function nameFile(response: Response, form: StatementFormat, row: InvoiceRow): void {
  const month = row.period_start.toISOString().slice(0, 7);
  response.setHeader('Content-Type', TYPES[form]);
  const mark = row.status === 'void' ? '-void' : '';
  response.setHeader('Content-Disposition', `attachment; filename="statement-${month}${mark}.${form}"`);
}

/** Sets the digest of an issued document's bytes (RFC 9530). */
function nameDigest(response: Response, sha256: Buffer | null): void {
  if (sha256 !== null) {
    response.setHeader('Repr-Digest', `sha-256=:${sha256.toString('base64')}:`);
  }
}

/** Returns the ids of a statement's movements, or undefined when there are too many for one response. */
async function transactionIds(
  lines: AsyncIterable<Parameters<typeof transactionId>[0]>,
): Promise<string[] | undefined> {
  const ids: string[] = [];
  for await (const row of lines) {
    if (ids.length === TRANSACTIONS_LISTED_MAX) {
      return undefined;
    }
    ids.push(transactionId(row));
  }
  return ids;
}
