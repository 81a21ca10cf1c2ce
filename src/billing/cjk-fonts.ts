import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Noto Sans, in the parts that browsers are sent, about 100 characters each: a document reads the few that it needs. */
const LANGUAGES = ['sc', 'jp', 'kr'] as const;
type Language = (typeof LANGUAGES)[number];

/** No character that the fonts have lies above, nor below: what does is another font's. */
const FIRST = 0x2e80;
const END = 0x30000;
interface PartTable {
  /** WOFF2 files of the package. */
  readonly files: readonly string[];
  /** By character above {@link FIRST}: 1 + the place of its file; 0: not in this font. */
  readonly places: Uint8Array;
}

const tables = new Map<Language, PartTable>();

/**
 * The file of the font that draws a Chinese, Japanese or Korean character, in the form of its text's language and the thinnest
 * weight; undefined: none has it.
 */
export function cjkFont(character: string, text: string): string | undefined {
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

/** One code stands for forms that differ by language: kana tell Japanese, hangul Korean. */
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
