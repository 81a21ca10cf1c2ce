import { createRequire } from 'node:module';

type Pdf = PDFKit.PDFDocument;

const require = createRequire(import.meta.url);

/** What PDF's built-in fonts can show. */
const LATIN_1 = /^[\x20-\x7e\xa0-\xff]*$/;
const BUILT_IN = 'Helvetica';
/** Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic; what a statement uses of it becomes a part of the document. */
const embeddedFont = () => require.resolve('@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff');
/** Stands for a character that no font here has. */
const UNKNOWN = '□';

/** The font that pdfkit has open; its types leave it out. */
interface OpenFont {
  readonly _font: { readonly font: { hasGlyphForCodePoint(codePoint: number): boolean } };
}

/** Height of Helvetica's capitals above the baseline, as a share of the font size: where pdfkit puts its lines. */
const ASCENT = 0.718;

/**
 * Draws a free text at a place (points), on the line that the built-in font would stand on, in a font that has its characters.
 * Returns whether all of it could be drawn: a box stands for each character that is in no font here, of which Chinese,
 * Japanese and Korean ones are the most likely.
 */
export function drawFreeText(
  pdf: Pdf,
  text: string,
  place: { readonly x: number; readonly y: number; readonly size: number },
  options: PDFKit.Mixins.TextOptions,
): boolean {
  const shown = chooseFont(pdf, text);
  const { x, y, size } = place;
  pdf.fontSize(size).text(shown, x, y + ASCENT * size, { ...options, baseline: 'alphabetic' });
  pdf.font(BUILT_IN);
  return !shown.includes(UNKNOWN) || text.includes(UNKNOWN);
}

function chooseFont(pdf: Pdf, text: string): string {
  if (LATIN_1.test(text)) {
    pdf.font(BUILT_IN);
    return text;
  }
  pdf.font(embeddedFont());
  const { font } = (pdf as unknown as OpenFont)._font;
  return [...text.replace(/\p{Cc}/gu, ' ')]
    .map((character) => (font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0) ? character : UNKNOWN))
    .join('');
}
