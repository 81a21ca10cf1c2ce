import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { LruMap } from '../lib/lru-map.ts';
import { ASCENT, drawCells, isBuiltInText } from './pdf-cells.ts';

const require = createRequire(import.meta.url);

/** Noto Sans, split into files of about 100 characters each, as for browsers: a document reads only the few it needs. */
const LANGUAGES = ['sc', 'jp', 'kr'] as const;
type Language = (typeof LANGUAGES)[number];

/** Bounds of the characters that these fonts have; all others are in another font. */
const FIRST = 0x2e80;
const END = 0x30000;

interface PartTable {
  /** Names of the WOFF2 files in the package. */
  readonly files: readonly string[];
  /** For each character from {@link FIRST} on: 1 + the index of its file, or 0 when this font does not have it. */
  readonly places: Uint8Array;
}

const tables = new Map<Language, PartTable>();

type Pdf = PDFKit.PDFDocument;

/** The characters of PDF's built-in fonts. */
const LATIN_1 = /^[\x20-\x7e\xa0-\xff]$/;
const BUILT_IN = 'Helvetica';
/** Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic. The characters that a statement uses are embedded in it. */
const EMBEDDED = '@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff2';
/** Replaces a character that no font here has. */
const UNKNOWN = '□';
const CUT = '…';

/** pdfkit's current font, which its types omit. */
interface OpenFont {
  readonly _font: { readonly font: { hasGlyphForCodePoint(codePoint: number): boolean } };
}

/** Number of decompressed (TrueType) fonts to keep, 30 to 750 kB each. */
const UNPACKED_MAX = 40;
const unpacked = new LruMap<string, Uint8Array>(UNPACKED_MAX);

/** Stroke width that makes the thinnest weight look regular, as a fraction of the font size. */
const CJK_PEN = 0.042;

/** A piece of text in one font. */
interface Run {
  readonly font: string;
  text: string;
  readonly isCjk: boolean;
}

export interface FreeText {
  readonly text: string;
  /** Position of the upper left corner, in points. */
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly color: string;
  /** In points. */
  readonly width: number;
  /** Whether text that does not fit continues below; otherwise it is cut. */
  readonly isParagraph?: boolean;
}

/** Loads the fonts that {@link drawFreeText} needs for these texts. Rejects when a font's file cannot be read. */
export async function addFonts(pdf: Pdf, texts: Iterable<string>): Promise<void> {
  const fonts = new Set([...texts].flatMap((text) => charactersOf(text).map(({ font }) => font)));
  for (const font of fonts) {
    if (font !== BUILT_IN) {
      pdf.registerFont(font, (await unpack(font)) as Buffer);
    }
  }
}

/** Decompresses a font: pdfkit reads WOFF2 as well, but embeds blank glyphs of it. */
async function unpack(font: string): Promise<Uint8Array> {
  const before = unpacked.get(font);
  if (before) {
    return before;
  }
  // imported at the first such text: most services never draw one
  const { default: decompress } = await import('woff2-encoder/decompress');
  const bytes = await decompress(await readFile(require.resolve(font)));
  unpacked.set(font, bytes);
  return bytes;
}

/**
 * Draws a free text in fonts that have its characters, on the baseline of the built-in font. Returns whether all of
 * it could be drawn: a character that no font here has becomes a box.
 */
export function drawFreeText(pdf: Pdf, { text, x, y, size, color, width, isParagraph }: FreeText): boolean {
  if (!isParagraph && isBuiltInText(text)) {
    drawCells(pdf, y, size, [{ text, x, width, color }]);
    return true;
  }
  const runs = runsOf(pdf, text);
  pdf.fontSize(size).fillColor(color);
  const baseline = y + ASCENT * size;
  let left = x;
  const shown = isParagraph ? runs : cut(pdf, runs, width);
  for (const [index, { font, text: part, isCjk }] of shown.entries()) {
    pdf.font(font);
    if (isCjk) {
      pdf.lineWidth(CJK_PEN * size).strokeColor(color);
    }
    const style = { baseline: 'alphabetic', fill: true, stroke: isCjk } as const;
    if (!isParagraph) {
      pdf.text(part, left, baseline, { ...style, lineBreak: false });
      left += pdf.widthOfString(part);
    } else if (index === 0) {
      pdf.text(part, x, baseline, { ...style, width, continued: runs.length > 1 });
    } else {
      pdf.text(part, { ...style, width, continued: index < runs.length - 1 });
    }
  }
  pdf.font(BUILT_IN);
  return text.includes(UNKNOWN) || !runs.some((run) => run.text.includes(UNKNOWN));
}

function runsOf(pdf: Pdf, text: string): Run[] {
  const runs: Run[] = [];
  for (const { font, text: character, isCjk } of charactersOf(text)) {
    const shown = font !== EMBEDDED || hasGlyph(pdf, character) ? character : UNKNOWN;
    const last = runs.at(-1);
    if (last?.font === font) {
      last.text += shown;
    } else {
      runs.push({ font, text: shown, isCjk });
    }
  }
  return runs;
}

function hasGlyph(pdf: Pdf, character: string): boolean {
  const { font } = (pdf.font(EMBEDDED) as unknown as OpenFont)._font;
  return font.hasGlyphForCodePoint(character.codePointAt(0) ?? 0);
}

function charactersOf(text: string): Run[] {
  const shown = text.replace(/\p{Cc}/gu, ' ');
  const characters = [...shown].map((character) => ({ text: character, cjk: cjkFont(character, shown) }));
  const isBuiltIn = characters.every(
    ({ text: character, cjk }) => cjk !== undefined || LATIN_1.test(character),
  );
  // all letters of a word use one font, including those that the built-in font has
  const other = isBuiltIn ? BUILT_IN : EMBEDDED;
  return characters.map(({ text: character, cjk }) => {
    return { font: cjk ?? other, text: character, isCjk: cjk !== undefined };
  });
}

/** Returns as much of the text as fits into a width. */
function cut(pdf: Pdf, runs: readonly Run[], width: number): Run[] {
  const widthOf = ({ font, text }: Run) => pdf.font(font).widthOfString(text);
  let room = width;
  const end: Run = { font: BUILT_IN, text: CUT, isCjk: false };
  const fits = (run: Run, reserved: number) => widthOf(run) <= room - reserved;
  const kept: Run[] = [];
  for (const run of runs) {
    if (!fits(run, 0)) {
      return [...kept, { ...run, text: beginning(run, (part) => fits(part, widthOf(end))) }, end];
    }
    kept.push(run);
    room -= widthOf(run);
  }
  return kept;
}

/** Returns the longest prefix of a run that fits. */
function beginning(run: Run, fits: (run: Run) => boolean): string {
  const characters = [...run.text];
  while (characters.length > 0 && !fits({ ...run, text: characters.join('') })) {
    characters.pop();
  }
  return characters.join('');
}

/**
 * Returns the font file that draws a Chinese, Japanese or Korean character, in the form of its text's language and the thinnest
 * weight; undefined when none has it.
 */
function cjkFont(character: string, text: string): string | undefined {
  const place = (character.codePointAt(0) ?? 0) - FIRST;
  if (place < 0 || place >= END - FIRST) {
    return undefined;
  }
  for (const language of languagesOf(text)) {
    const { files, places } = tableOf(language);
    const file = files[(places[place] ?? 0) - 1];
    if (file !== undefined) {
      return file;
    }
  }
  return undefined;
}

/** Returns the languages to try. One code point has forms that differ by language: kana indicate Japanese, hangul Korean. */
function languagesOf(text: string): readonly Language[] {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) {
    return ['jp', 'sc', 'kr'];
  }
  return /\p{Script=Hangul}/u.test(text) ? ['kr', 'sc', 'jp'] : LANGUAGES;
}

function tableOf(language: Language): PartTable {
  const before = tables.get(language);
  if (before) {
    return before;
  }
  const table = readTable(language);
  tables.set(language, table);
  return table;
}

function readTable(language: Language): PartTable {
  const name = `noto-sans-${language}`;
  const directory = `@fontsource-variable/${name}`;
  const parts = readFileSync(require.resolve(`${directory}/unicode.json`), 'utf8');
  const ranges = JSON.parse(parts) as Record<string, string>;
  const files = Object.keys(ranges).map(
    (key) => `${directory}/files/${name}-${key.replace(/[[\]]/g, '')}-wght-normal.woff2`,
  );
  const places = new Uint8Array(END - FIRST);
  for (const [index, list] of Object.values(ranges).entries()) {
    for (const range of list.split(',')) {
      const [first = 0, last = first] = range
        .slice('U+'.length)
        .split('-')
        .map((hex) => Number.parseInt(hex, 16));
      places.fill(index + 1, Math.max(first - FIRST, 0), Math.max(last + 1 - FIRST, 0));
    }
  }
  return { files, places };
}
