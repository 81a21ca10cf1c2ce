import PDFDocument from 'pdfkit';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { InvoiceJson } from './invoices.schema.ts';
import { drawFreeText } from './statement-font.ts';
import { MARGIN, PAGE_HEIGHT, PAGE_WIDTH, type Palette, palette } from './statement-page.ts';
import { presentTransaction } from './transactions.presenter.ts';
import type { EntryRow } from './transactions.read-model.ts';

export interface StatementDocument {
  readonly accountId: string;
  readonly accountName: string;
  /** Base of links to generations, without a trailing slash. */
  readonly publicUrl: string;
  readonly invoice: InvoiceJson;
  /** The period has ended; a draft may still be one until the hourly close. */
  readonly isOver: boolean;
  readonly lines: AsyncIterable<EntryRow>;
}

/** Above this many charges a statement on paper helps nobody: their days are summed, and the CSV has each. */
const CHARGES_LISTED_MAX = 500;
/** An amount is exact to the nano-dollar. */
const LINE_DECIMALS = 9;

type Pdf = PDFKit.PDFDocument;

/** A statement as PDF: the totals first, then every movement with its running balance. */
export async function statementPdf(statement: StatementDocument): Promise<Buffer> {
  const pdf = new PDFDocument({
    size: 'A4',
    margin: MARGIN,
    bufferPages: true,
    info: { Title: 'Statement' },
  });
  const chunks: Buffer[] = [];
  const finished = new Promise<void>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
    pdf.on('end', resolve);
    pdf.on('error', reject);
  });
  drawHeading(pdf, statement);
  drawTotals(pdf, statement.invoice);
  await drawMovements(pdf, statement);
  drawFooters(pdf, statement);
  pdf.end();
  await finished;
  return Buffer.concat(chunks);
}

/** What people read; `paid` would be taken for an invoice that was paid. */
const STATES: Readonly<Record<InvoiceJson['status'], string>> = {
  draft: 'draft of a running period, not final',
  open: 'closed, being reconciled',
  paid: 'final',
  void: 'VOID: replaced by a later version',
  uncollectible: 'written off',
};

function drawHeading(pdf: Pdf, { invoice, isOver, accountId, accountName }: StatementDocument): void {
  pdf.font('Helvetica-Bold').fontSize(22).fillColor(palette.ink).text('Statement', MARGIN, MARGIN);
  const facts: [string, string][] = [
    ['Account', accountName],
    ['Account id', publicId('account', accountId)],
    ['Statement', invoice.id],
    ['Period (UTC)', `${invoice.period_start.slice(0, 10)} to ${lastDay(invoice.period_end)}, both included`],
    ['Status', invoice.status === 'draft' && isOver ? 'period over, not yet closed' : STATES[invoice.status]],
    ['Currency', invoice.currency],
  ];
  let y = MARGIN + 40;
  let isWhole = true;
  for (const [label, value] of facts) {
    pdf.font('Helvetica').fontSize(9).fillColor(palette.soft).text(label, MARGIN, y, { lineBreak: false });
    pdf.fillColor(palette.ink);
    const place = { x: MARGIN + 90, y, size: 9 };
    isWhole = drawFreeText(pdf, value, place, { width: 380, height: 12, ellipsis: true }) && isWhole;
    y += 15;
  }
  if (!isWhole) {
    pdf.font('Helvetica').fontSize(7.5).fillColor(palette.soft);
    pdf.text('A box stands for a character that this document has no font for.', MARGIN + 90, y);
    y += 12;
  }
  pdf.y = y + 12;
}

function drawTotals(pdf: Pdf, invoice: InvoiceJson): void {
  const rows: [string, string, boolean][] = [
    ['Opening balance', invoice.opening_balance, true],
    ['Credits purchased', invoice.credit_purchase_total, false],
    ['Usage', negated(invoice.usage_charge_total), false],
    ['Refunds', invoice.refund_total, false],
    ['Adjustments', invoice.adjustment_total, false],
    ['Closing balance', invoice.closing_balance, true],
  ];
  const decimals = Math.max(...rows.map(([, amount]) => amount.length - amount.indexOf('.') - 1));
  for (const [label, amount, isTotal] of rows) {
    const { y } = pdf;
    pdf
      .font(isTotal ? 'Helvetica-Bold' : 'Helvetica')
      .fontSize(10)
      .fillColor(palette.ink);
    pdf.text(label, MARGIN, y, { lineBreak: false });
    pdf.text(fixed(amount, decimals), MARGIN + 200, y, {
      width: PAGE_WIDTH - 2 * MARGIN - 200,
      align: 'right',
    });
    rule(pdf, y + 15, palette);
    pdf.y = y + 20;
  }
  pdf.y += 18;
}

async function drawMovements(pdf: Pdf, statement: StatementDocument): Promise<void> {
  drawTableHead(pdf);
  let charges = 0;
  let summed = 0n;
  for await (const row of statement.lines) {
    if (row.type === 'usage_charge') {
      charges += 1;
      if (charges > CHARGES_LISTED_MAX) {
        summed += BigInt(row.amount);
        continue;
      }
    }
    drawMovement(pdf, row, statement);
  }
  if (charges > CHARGES_LISTED_MAX) {
    const rest = charges - CHARGES_LISTED_MAX;
    pdf.moveDown(0.8).font('Helvetica-Bold').fontSize(9).fillColor(palette.ink);
    pdf.text(
      `${rest} further charges, together ${formatUsd(nanoUsd(summed))}; each is in the CSV form.`,
      MARGIN,
    );
  }
}

function drawMovement(pdf: Pdf, row: EntryRow, { accountId, publicUrl }: StatementDocument): void {
  if (pdf.y > PAGE_HEIGHT - MARGIN - 30) {
    pdf.addPage();
    drawTableHead(pdf);
  }
  const entry = presentTransaction(row, accountId);
  const { y } = pdf;
  const generation = entry.related_generation_id;
  const text = generation ?? entry.related_checkout_session_id ?? entry.id;
  const cell = { height: 10, ellipsis: true, lineBreak: false };
  pdf.font('Helvetica').fontSize(7.5).fillColor(palette.ink);
  pdf.text(entry.created_at.slice(0, 19).replace('T', ' '), MARGIN, y, { ...cell, width: 82 });
  drawFreeText(pdf, entry.description, { x: MARGIN + 84, y, size: 7.5 }, { ...cell, width: 120 });
  pdf.fillColor(generation ? palette.link : palette.soft);
  const link = generation ? { link: `${publicUrl}/api/v1/generation?id=${generation}` } : {};
  pdf.text(text, MARGIN + 208, y, { ...cell, width: 150, ...link });
  pdf
    .fillColor(palette.ink)
    .text(entry.amount.value, MARGIN + 360, y, { ...cell, width: 70, align: 'right' });
  pdf.text(fixed(entry.balance_after.value, LINE_DECIMALS), MARGIN + 432, y, {
    ...cell,
    width: 66,
    align: 'right',
  });
  pdf.y = y + 12;
}

function drawTableHead(pdf: Pdf): void {
  const { y } = pdf;
  pdf.font('Helvetica-Bold').fontSize(7.5).fillColor(palette.soft);
  pdf.text('Time (UTC)', MARGIN, y, { lineBreak: false });
  pdf.text('Description', MARGIN + 84, y, { lineBreak: false });
  pdf.text('Reference', MARGIN + 208, y, { lineBreak: false });
  pdf.text('Amount', MARGIN + 360, y, { width: 70, align: 'right', lineBreak: false });
  pdf.text('Balance', MARGIN + 432, y, { width: 66, align: 'right', lineBreak: false });
  rule(pdf, y + 11, palette);
  pdf.y = y + 16;
}

function drawFooters(pdf: Pdf, { invoice }: StatementDocument): void {
  const { count } = pdf.bufferedPageRange();
  for (let page = 0; page < count; page += 1) {
    pdf.switchToPage(page);
    // below the margin a text would open another page
    pdf.page.margins.bottom = 0;
    pdf.font('Helvetica').fontSize(7.5).fillColor(palette.soft);
    const text = `${invoice.id} · page ${page + 1} of ${count}`;
    pdf.text(text, MARGIN, PAGE_HEIGHT - MARGIN + 14, { width: PAGE_WIDTH - 2 * MARGIN, align: 'center' });
  }
}

function rule(pdf: Pdf, y: number, colors: Palette): void {
  pdf
    .moveTo(MARGIN, y)
    .lineTo(PAGE_WIDTH - MARGIN, y)
    .lineWidth(0.5)
    .strokeColor(colors.line)
    .stroke();
}

function lastDay(periodEnd: string): string {
  return new Date(new Date(periodEnd).getTime() - 1).toISOString().slice(0, 10);
}

/** The same amount with that many decimals: in a column, points have to stand below each other. */
function fixed(amount: string, decimals: number): string {
  const [whole = '', fraction = ''] = amount.split('.');
  return `${whole}.${fraction.padEnd(decimals, '0')}`;
}

function negated(amount: string): string {
  return /^0\.0+$/.test(amount) ? amount : `-${amount}`;
}
