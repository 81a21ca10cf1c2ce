import { publicId } from '../lib/ids.ts';
import { formatUsd, type NanoUsd, nanoUsd } from '../lib/money.ts';
import { documentNumber, type Party } from './documents.types.ts';
import type { StatementSum } from './invoices.read-model.ts';
import type { InvoiceJson } from './invoices.schema.ts';
import { type BuiltInFont, type Cell, drawCells } from './pdf-cells.ts';
import { drawFreeText } from './statement-font.ts';
import type { StatementLines } from './statement-lines.ts';
import {
  CONTENT_WIDTH,
  drawAmount,
  drawFooters,
  drawHeading,
  drawRule,
  linesOf,
  MARGIN,
  makeRoom,
  openPdf,
  palette,
} from './statement-page.ts';
import { presentTransaction } from './transactions.presenter.ts';
import type { EntryRow } from './transactions.read-model.ts';

export interface StatementDocument {
  readonly accountId: string;
  readonly seller: Party | undefined;
  readonly buyer: Party;
  /** Base of links to generations, without a trailing slash. */
  readonly publicUrl: string;
  readonly invoice: InvoiceJson;
  /** Undefined on a draft. */
  readonly number: number | undefined;
  /** On a draft, the time of the request. */
  readonly issuedAt: Date;
  /** Whether the period has ended. A draft may remain one until the hourly close. */
  readonly isOver: boolean;
  /** SHA-256 over the entries up to the last one, hex; null on a draft. */
  readonly digest: string | null;
  /** Nano-USD owed for reversed payments at the end of the period. */
  readonly owed: NanoUsd;
  readonly sums: readonly StatementSum[];
  /** Must have read all movements. */
  readonly lines: StatementLines;
}

/** Decimals of amounts in lists, which are exact to the nano-dollar. */
const LINE_DECIMALS = 9;

/** Font size of tables, in points. */
const SMALL = 7.5;

type Pdf = PDFKit.PDFDocument;

/** Renders a statement as PDF: the totals first, then sums of usage, then every movement with its running balance. */
export async function statementPdf(statement: StatementDocument): Promise<Buffer> {
  const { invoice, number, issuedAt, lines } = statement;
  const { pdf, finish } = await openPdf('Statement', issuedAt, textsOf(statement));
  drawHeading(pdf, { ...statement, title: 'Statement', facts: factsOf(statement) });
  drawTotals(pdf, statement);
  drawSums(pdf, statement.sums);
  makeRoom(pdf, 60);
  drawTableHead(pdf);
  for (const row of lines.listed) {
    drawMovement(pdf, row, statement);
  }
  if (lines.furtherCount > 0) {
    pdf.font('Helvetica-Bold').fontSize(9).fillColor(palette.ink).moveDown(0.8);
    const amount = formatUsd(nanoUsd(lines.furtherAmount));
    pdf.text(`${lines.furtherCount} further movements, ${amount} in total; the CSV file lists each.`, MARGIN);
  }
  drawFooters(pdf, number === undefined ? invoice.id : documentNumber('statement', number));
  return finish();
}

function textsOf({ accountId, seller, buyer, sums, lines }: StatementDocument): string[] {
  return [
    ...(seller ? linesOf(seller) : []),
    ...linesOf(buyer),
    ...sums.map(({ name }) => name ?? ''),
    ...lines.listed.map((row) => presentTransaction(row, accountId).description),
  ];
}

/** Names of statuses for readers; `paid` would be mistaken for a paid invoice. */
const STATES: Readonly<Record<InvoiceJson['status'], string>> = {
  draft: 'draft of the current period, not final',
  open: 'closed, being reconciled',
  paid: 'final',
  void: 'VOID: replaced by a later version',
  uncollectible: 'written off',
};

function factsOf({
  accountId,
  invoice,
  number,
  issuedAt,
  isOver,
  digest,
}: StatementDocument): [string, string][] {
  const issued: [string, string][] =
    number === undefined
      ? []
      : [
          ['Number', documentNumber('statement', number)],
          ['Issue date', issuedAt.toISOString().slice(0, 10)],
        ];
  return [
    ...issued,
    ['Account id', publicId('account', accountId)],
    ['Statement', invoice.id],
    ['Period (UTC)', `${invoice.period_start.slice(0, 10)} to ${lastDay(invoice.period_end)} inclusive`],
    ['Status', invoice.status === 'draft' && isOver ? 'period over, not yet closed' : STATES[invoice.status]],
    ['Currency', invoice.currency],
    ...(digest === null ? [] : [['Digest', digest] satisfies [string, string]]),
  ];
}

function drawTotals(pdf: Pdf, { invoice, owed }: StatementDocument): void {
  const rows: [string, string, boolean][] = [
    ['Opening balance', invoice.opening_balance, true],
    ['Credits purchased', invoice.credit_purchase_total, false],
    ['Usage', negated(invoice.usage_charge_total), false],
    ['Refunds', invoice.refund_total, false],
    ['Adjustments', invoice.adjustment_total, false],
    ['Closing balance', invoice.closing_balance, true],
    ...(owed > 0n
      ? [['Owed for reversed payments', formatUsd(owed), true] satisfies [string, string, boolean]]
      : []),
  ];
  const decimals = Math.max(...rows.map(([, amount]) => decimalsOf(amount)));
  for (const [label, amount, isTotal] of rows) {
    drawAmount(pdf, label, fixed(amount, decimals), isTotal);
  }
  pdf.y += 18;
}

const SUM_TITLES: Readonly<Record<StatementSum['kind'], string>> = {
  model: 'Usage by model',
  key: 'Usage by key',
  day: 'Usage by day (UTC)',
};

function drawSums(pdf: Pdf, sums: readonly StatementSum[]): void {
  for (const kind of ['model', 'key', 'day'] as const) {
    const rows = sums.filter((sum) => sum.kind === kind);
    if (rows.length > 0) {
      drawSumTable(pdf, SUM_TITLES[kind], rows);
    }
  }
}

function drawSumTable(pdf: Pdf, title: string, rows: readonly StatementSum[]): void {
  makeRoom(pdf, 50);
  const head = () => drawColumns(pdf, [title, 'Calls', 'USD'], 'Helvetica-Bold', palette.soft);
  head();
  drawRule(pdf, pdf.y - 1);
  pdf.y += 4;
  for (const { name, calls, amount } of rows) {
    if (makeRoom(pdf, 30)) {
      head();
      pdf.y += 4;
    }
    const usd = fixed(formatUsd(nanoUsd(amount)), LINE_DECIMALS);
    drawColumns(pdf, [name ?? 'all others', calls, usd], 'Helvetica', palette.ink);
  }
  pdf.y += 14;
}

function drawColumns(
  pdf: Pdf,
  [name, calls, amount]: readonly [string, string, string],
  font: BuiltInFont,
  color: string,
): void {
  const { y } = pdf;
  const number = { font, color, align: 'right' } as const;
  const cells: Cell[] = [
    { ...number, text: calls, x: MARGIN + 300, width: 80 },
    { ...number, text: amount, x: MARGIN + 390, width: CONTENT_WIDTH - 390 },
  ];
  if (font === 'Helvetica') {
    drawFreeText(pdf, { text: name, x: MARGIN, y, size: SMALL, color, width: 290 });
  } else {
    cells.push({ text: name, x: MARGIN, width: 290, font, color });
  }
  drawCells(pdf, y, SMALL, cells);
  pdf.y = y + 12;
}

function drawMovement(pdf: Pdf, row: EntryRow, { accountId, publicUrl }: StatementDocument): void {
  if (makeRoom(pdf, 30)) {
    drawTableHead(pdf);
  }
  const entry = presentTransaction(row, accountId);
  const { y } = pdf;
  const { ink, soft, link } = palette;
  const generation = entry.related_generation_id;
  const text = generation ?? entry.related_checkout_session_id ?? entry.id;
  const time = entry.created_at.slice(0, 19).replace('T', ' ');
  const balance = fixed(entry.balance_after.value, LINE_DECIMALS);
  const click = generation ? { link: `${publicUrl}/api/v1/generation?id=${generation}` } : {};
  drawFreeText(pdf, { text: entry.description, size: SMALL, color: ink, x: MARGIN + 84, y, width: 120 });
  drawCells(pdf, y, SMALL, [
    { text: time, x: MARGIN, width: 82, color: ink },
    { text, x: MARGIN + 208, width: 150, color: generation ? link : soft, ...click },
    { text: entry.amount.value, x: MARGIN + 360, width: 70, color: ink, align: 'right' },
    { text: balance, x: MARGIN + 432, width: 66, color: ink, align: 'right' },
  ]);
  pdf.y = y + 12;
}

function drawTableHead(pdf: Pdf): void {
  const { y } = pdf;
  const head = { font: 'Helvetica-Bold', color: palette.soft } as const;
  drawCells(pdf, y, SMALL, [
    { ...head, text: 'Time (UTC)', x: MARGIN, width: 82 },
    { ...head, text: 'Description', x: MARGIN + 84, width: 120 },
    { ...head, text: 'Reference', x: MARGIN + 208, width: 150 },
    { ...head, text: 'Amount', x: MARGIN + 360, width: 70, align: 'right' },
    { ...head, text: 'Balance', x: MARGIN + 432, width: 66, align: 'right' },
  ]);
  drawRule(pdf, y + 11);
  pdf.y = y + 16;
}

function lastDay(periodEnd: string): string {
  return new Date(new Date(periodEnd).getTime() - 1).toISOString().slice(0, 10);
}

function decimalsOf(amount: string): number {
  return amount.length - amount.indexOf('.') - 1;
}

/** Pads an amount to a number of decimals, so that the decimal points of a column are aligned. */
function fixed(amount: string, decimals: number): string {
  const [whole = '', fraction = ''] = amount.split('.');
  return `${whole}.${fraction.padEnd(decimals, '0')}`;
}

function negated(amount: string): string {
  return /^0\.0+$/.test(amount) ? amount : `-${amount}`;
}
