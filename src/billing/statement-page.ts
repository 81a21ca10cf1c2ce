import type { Party } from './documents.types.ts';
import { drawCells } from './pdf-cells.ts';
import { addFonts, drawFreeText } from './statement-font.ts';

type Pdf = PDFKit.PDFDocument;

/** A4 in points. */
export const PAGE_WIDTH = 595;
export const PAGE_HEIGHT = 842;
export const MARGIN = 48;
export const CONTENT_WIDTH = PAGE_WIDTH - 2 * MARGIN;

interface PageColors {
  readonly ink: string;
  readonly soft: string;
  readonly line: string;
  readonly link: string;
}

export const palette: PageColors = { ink: '#1c2321', soft: '#5f6b66', line: '#d0d7d3', link: '#0b6b53' };

/** A document that is being drawn. */
export interface Paper {
  readonly pdf: Pdf;
  /** Finishes the document. Rethrows pdfkit errors. */
  finish(): Promise<Buffer>;
}

/**
 * Opens a document. `madeAt` is the only time in the file, so that the same content has the same bytes. `texts` are the free texts that
 * will be drawn. Rejects when a font's file cannot be read.
 */
export async function openPdf(title: string, madeAt: Date, texts: Iterable<string>): Promise<Paper> {
  // loaded with the first document: it is a tenth of what a process loads, and few processes draw one
  const { default: PDFDocument } = await import('pdfkit');
  const pdf = new PDFDocument({
    size: 'A4',
    margin: MARGIN,
    bufferPages: true,
    // no font yet: parsing one costs as much as half a page
    font: '',
    info: { Title: title, CreationDate: madeAt },
  });
  const chunks: Buffer[] = [];
  const finished = new Promise<void>((resolve, reject) => {
    pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
    pdf.on('end', resolve);
    pdf.on('error', reject);
  });
  await addFonts(pdf, texts);
  return {
    pdf,
    async finish() {
      pdf.end();
      await finished;
      return Buffer.concat(chunks);
    },
  };
}

export interface PaperHeading {
  readonly title: string;
  /** Undefined when no seller is named. */
  readonly seller: Party | undefined;
  readonly buyer: Party;
  readonly facts: readonly (readonly [label: string, value: string])[];
}

const COLUMN_WIDTH = CONTENT_WIDTH / 2 - 10;
const LABEL_WIDTH = 200;

export function linesOf(party: Party): string[] {
  return [party.name, ...party.address, ...(party.tax_id === null ? [] : [`Tax id ${party.tax_id}`])];
}

/** Draws the title, seller, buyer and facts. */
export function drawHeading(pdf: Pdf, { title, seller, buyer, facts }: PaperHeading): void {
  drawCells(pdf, MARGIN, 22, [
    { text: title, x: MARGIN, width: CONTENT_WIDTH, color: palette.ink, font: 'Helvetica-Bold' },
  ]);
  const top = MARGIN + 40;
  const left = drawParty(pdf, 'For', buyer, { x: MARGIN, y: top });
  const right = seller
    ? drawParty(pdf, 'From', seller, { x: MARGIN + CONTENT_WIDTH / 2 + 10, y: top })
    : { y: top, isWhole: true };
  let y = Math.max(left.y, right.y) + 14;
  let isWhole = left.isWhole && right.isWhole;
  for (const [label, value] of facts) {
    drawCells(pdf, y, 9, [{ text: label, x: MARGIN, width: 90, color: palette.soft }]);
    const place = { x: MARGIN + 90, y, width: 400 };
    isWhole = drawFreeText(pdf, { text: value, size: 9, color: palette.ink, ...place }) && isWhole;
    y += 15;
  }
  if (!isWhole) {
    const text = 'A box stands for a character that this document has no font for.';
    drawCells(pdf, y, 7.5, [{ text, x: MARGIN + 90, width: CONTENT_WIDTH - 90, color: palette.soft }]);
    y += 12;
  }
  pdf.y = y + 12;
}

function drawParty(
  pdf: Pdf,
  label: string,
  party: Party,
  { x, y: top }: { readonly x: number; readonly y: number },
): { readonly y: number; readonly isWhole: boolean } {
  drawCells(pdf, top, 7.5, [{ text: label, x, width: COLUMN_WIDTH, color: palette.soft }]);
  let y = top + 11;
  let isWhole = true;
  for (const text of linesOf(party)) {
    isWhole = drawFreeText(pdf, { text, x, y, size: 9, color: palette.ink, width: COLUMN_WIDTH }) && isWhole;
    y += 13;
  }
  return { y, isWhole };
}

/** Draws a label and an amount on a ruled line. The label of a total must be our own text; any other may be free text. */
export function drawAmount(pdf: Pdf, label: string, amount: string, isTotal: boolean): void {
  const { y } = pdf;
  const font = isTotal ? 'Helvetica-Bold' : 'Helvetica';
  const cell = { color: palette.ink, font } as const;
  if (isTotal) {
    drawCells(pdf, y, 10, [{ ...cell, text: label, x: MARGIN, width: LABEL_WIDTH }]);
  } else {
    drawFreeText(pdf, { text: label, x: MARGIN, y, size: 10, color: palette.ink, width: LABEL_WIDTH });
  }
  const place = { x: MARGIN + LABEL_WIDTH, width: CONTENT_WIDTH - LABEL_WIDTH, align: 'right' } as const;
  drawCells(pdf, y, 10, [{ ...cell, ...place, text: amount }]);
  drawRule(pdf, y + 15);
  pdf.y = y + 20;
}

export function drawRule(pdf: Pdf, y: number): void {
  pdf
    .moveTo(MARGIN, y)
    .lineTo(PAGE_WIDTH - MARGIN, y)
    .lineWidth(0.5)
    .strokeColor(palette.line)
    .stroke();
}

/** Starts a new page when less than `height` points are left on this one. Returns whether it did. */
export function makeRoom(pdf: Pdf, height: number): boolean {
  if (pdf.y <= PAGE_HEIGHT - MARGIN - height) {
    return false;
  }
  pdf.addPage();
  return true;
}

/** Draws `name` and the page number at the foot of each page. */
export function drawFooters(pdf: Pdf, name: string): void {
  const { count } = pdf.bufferedPageRange();
  for (let page = 0; page < count; page += 1) {
    pdf.switchToPage(page);
    const text = `${name} · page ${page + 1} of ${count}`;
    const place = { x: MARGIN, width: CONTENT_WIDTH, align: 'center' } as const;
    drawCells(pdf, PAGE_HEIGHT - MARGIN + 14, 7.5, [{ ...place, text, color: palette.soft }]);
  }
}
