type Pdf = PDFKit.PDFDocument;

/** PDF's own fonts: every reader has them, and each has every character of Latin-1. */
export type BuiltInFont = 'Helvetica' | 'Helvetica-Bold';

/** Text on one line. */
export interface Cell {
  /** Latin-1 without control characters. */
  readonly text: string;
  /** Position of the left edge, in points. */
  readonly x: number;
  /** In points. Wider text is cut. */
  readonly width: number;
  readonly color: string;
  readonly align?: 'right' | 'center';
  readonly font?: BuiltInFont;
  /** The target of a click. */
  readonly link?: string;
}

/** Height of Helvetica's capitals above the baseline, as a fraction of the font size: where pdfkit puts its lines. */
export const ASCENT = 0.718;
const CUT = '…';
/** The code of the ellipsis in the encoding of PDF's own fonts. All other characters here have their Latin-1 code. */
const CUT_CODE = 0x85;
const LATIN_1 = /^[\x20-\x7e\xa0-\xff]*$/;

/** Names of the fonts on a page. pdfkit numbers its own fonts from F1. */
const NAMES: Readonly<Record<BuiltInFont, string>> = { Helvetica: 'F1000', 'Helvetica-Bold': 'F1001' };
const written = new WeakMap<Pdf, Map<BuiltInFont, PDFKit.PDFKitReference>>();

/** Character widths by code, in thousandths of the font size. */
type Widths = readonly number[];
const widths = new Map<BuiltInFont, Widths>();
const inks = new Map<string, string>();

/** Returns whether {@link drawCells} can draw the text. */
export function isBuiltInText(text: string): boolean {
  return LATIN_1.test(text);
}

/**
 * Draws the cells of a line whose upper edge is at `y`. pdfkit lays out every text as a paragraph, which takes twenty times
 * as long, and a statement has hundreds of short texts. pdfkit's own font, size and colors stay unchanged.
 */
export function drawCells(pdf: Pdf, y: number, size: number, cells: readonly Cell[]): void {
  const baseline = y + ASCENT * size;
  let line = 'q\nBT\n';
  for (const cell of cells) {
    const { color, align, font = 'Helvetica', link } = cell;
    const table = widths.get(font) ?? measure(pdf, font);
    const text = cutText(cell, table, size);
    const width = widthOf(text, table, size);
    const x = cell.x + (align === undefined ? 0 : (cell.width - width) / (align === 'right' ? 1 : 2));
    const hex = [...text].map((character) => codeOf(character).toString(16).padStart(2, '0')).join('');
    // the vertical axis of a page points down
    line += `/${nameOnPage(pdf, font)} ${size} Tf\n${inkOf(color)}1 0 0 -1 ${short(x)} ${short(baseline)} Tm\n[<${hex}>] TJ\n`;
    if (link !== undefined) {
      pdf.link(x, y, width, size, link);
    }
  }
  pdf.addContent(`${line}ET\nQ`);
}

/** Returns the width of a text, in points. */
function widthOf(text: string, table: Widths, size: number): number {
  let sum = 0;
  for (const character of text) {
    sum += table[codeOf(character)] ?? 0;
  }
  return (sum * size) / 1_000;
}

function measure(pdf: Pdf, font: BuiltInFont): Widths {
  // another document, because this one's own font must stay unchanged
  const Document = pdf.constructor as new (options: PDFKit.PDFDocumentOptions) => Pdf;
  const ruler = new Document({ autoFirstPage: false }).font(font).fontSize(1_000);
  const table = Array.from({ length: 256 }, (_, code) =>
    ruler.widthOfString(code === CUT_CODE ? CUT : String.fromCharCode(code)),
  );
  widths.set(font, table);
  return table;
}

/** Returns as much of the cell's text as fits into its width. */
function cutText({ text, width }: Cell, table: Widths, size: number): string {
  if (widthOf(text, table, size) <= width) {
    return text;
  }
  let end = text.length;
  while (end > 0 && widthOf(text.slice(0, end) + CUT, table, size) > width) {
    end -= 1;
  }
  return text.slice(0, end) + CUT;
}

function codeOf(character: string): number {
  return character === CUT ? CUT_CODE : character.charCodeAt(0);
}

/** Returns the font's name on the page. Each font is embedded once per document, which spares pdfkit from parsing it each time. */
function nameOnPage(pdf: Pdf, font: BuiltInFont): string {
  const fonts = written.get(pdf) ?? new Map<BuiltInFont, PDFKit.PDFKitReference>();
  written.set(pdf, fonts);
  let reference = fonts.get(font);
  if (reference === undefined) {
    reference = pdf.ref({ Type: 'Font', BaseFont: font, Subtype: 'Type1', Encoding: 'WinAnsiEncoding' });
    reference.end(undefined);
    fonts.set(font, reference);
  }
  const name = NAMES[font];
  (pdf.page.fonts as Record<string, unknown>)[name] ??= reference;
  return name;
}

/** Returns the operator that sets a color `#rrggbb`. */
function inkOf(color: string): string {
  const before = inks.get(color);
  if (before !== undefined) {
    return before;
  }
  const parts = [1, 3, 5].map((start) => short(Number.parseInt(color.slice(start, start + 2), 16) / 255));
  const ink = `${parts.join(' ')} rg\n`;
  inks.set(color, ink);
  return ink;
}

function short(value: number): string {
  return String(Math.round(value * 1_000) / 1_000);
}
