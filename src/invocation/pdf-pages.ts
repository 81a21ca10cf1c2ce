import type { Steps } from '../lib/steps.ts';
import { plainNames, referencesIn, unpackStream } from './pdf-stream.ts';
import { PdfText } from './pdf-text.ts';

/** Base64 characters decoded per step: 1 MB takes about 1 ms. */
const DECODE_STEP = 2 ** 20;
/** Leading bytes that must contain the PDF signature. */
const MARK_BYTES = 1_024;
/** Most bytes read of one dictionary: enough for a list of 50,000 pages. */
const DICTIONARY_BYTES_MAX = 2 ** 20;
/** Maximum objects of a document. Longer documents are not counted. */
const OBJECTS_MAX = 200_000;
const OBJECTS_PER_STEP = 200;
/** Dictionary bytes read per step. A step ends after the object that exceeds them. */
const STEP_BYTES = 2 ** 18;
/** Most bytes that all object streams may unpack to. */
const UNPACKED_TOTAL_MAX = 64 * 2 ** 20;
/** Maximum references in page lists, and maximum nesting of lists. */
const NAMED_MAX = 500_000;
const DEPTH_MAX = 64;

export interface PdfSize {
  readonly pages: number;
  /** Bytes of the text that the pages show, see {@link PdfText}. */
  readonly textBytes: number;
}

/**
 * Measures a PDF (base64) in steps of a few ms. The result is never below what a reader shows. It is undefined for input that is not a
 * PDF, is encrypted or packed in a way that hides its pages or their text, or holds too much. Counts every object that is a page and
 * every reference from a list of pages, in all revisions of the document: unlike the count that the document declares, this cannot be too
 * low.
 */
export function* measurePdf(base64: string): Steps<PdfSize | undefined> {
  const bytes = yield* decoded(base64);
  if (bytes.subarray(0, MARK_BYTES).indexOf('%PDF-') === -1) {
    return undefined;
  }
  const pages = new PageTree();
  const shown = new PdfText(bytes);
  let unpacked = 0;
  let objects = 0;
  // dictionaries do not overlap: together they cannot be longer than the document, unless it was crafted to keep us busy
  let readable = bytes.length + DICTIONARY_BYTES_MAX;
  let inStep = 0;
  for (const object of objectsIn(bytes)) {
    objects += 1;
    readable -= object.dictionary.length;
    // each object costs time in addition to its bytes
    inStep += object.dictionary.length + STEP_BYTES / OBJECTS_PER_STEP;
    if (objects > OBJECTS_MAX || readable < 0) {
      return undefined;
    }
    if (/\/Type\s*\/ObjStm\b/.test(object.dictionary)) {
      const text = unpackStream(bytes, object, UNPACKED_TOTAL_MAX - unpacked);
      if (text === undefined) {
        return undefined;
      }
      unpacked += text.length;
      addPacked(text, object.dictionary, (number, dictionary) => {
        pages.add(number, dictionary);
        shown.add(number, dictionary);
      });
      inStep = STEP_BYTES;
    } else {
      pages.add(object.number, object.dictionary);
      shown.add(object.number, object.dictionary, object.end);
    }
    if (inStep >= STEP_BYTES) {
      inStep = 0;
      yield undefined;
    }
  }
  const { count } = pages;
  const textBytes = count === undefined ? 0 : yield* shown.shownBytes(count);
  return count === undefined || !Number.isFinite(textBytes) ? undefined : { pages: count, textBytes };
}

interface PdfObject {
  readonly number: number;
  /** The dictionary as text, with escaped names decoded. */
  readonly dictionary: string;
  /** Offset of the end of the dictionary. */
  readonly end: number;
}

function* decoded(base64: string): Generator<undefined, Buffer> {
  const bytes = Buffer.allocUnsafe(Math.ceil((base64.length * 3) / 4));
  let length = 0;
  for (let start = 0; start < base64.length; start += DECODE_STEP) {
    length += bytes.write(base64.slice(start, start + DECODE_STEP), length, 'base64');
    if (start + DECODE_STEP < base64.length) {
      yield undefined;
    }
  }
  return bytes.subarray(0, length);
}

/** Yields every object, wherever it is: what looks like an object inside a stream may be one to another reader. */
function* objectsIn(bytes: Buffer): Generator<PdfObject> {
  const stream = new NextWord(bytes, 'stream');
  const endOfObject = new NextWord(bytes, 'endobj');
  for (let at = bytes.indexOf('obj'); at !== -1; at = bytes.indexOf('obj', at)) {
    const number = /(?:^|\D)(\d{1,10})\s+\d{1,5}\s+$/.exec(
      bytes.toString('latin1', Math.max(0, at - 24), at),
    )?.[1];
    at += 3;
    if (number !== undefined) {
      const end = Math.min(stream.after(at), endOfObject.after(at), at + DICTIONARY_BYTES_MAX);
      yield { number: Number(number), dictionary: plainNames(bytes.toString('latin1', at, end)), end };
    }
  }
}

/** Finds the next occurrence of a word. Searches once, not again for each object before it. */
class NextWord {
  readonly #bytes: Buffer;
  readonly #word: string;
  #at = -1;

  constructor(bytes: Buffer, word: string) {
    this.#bytes = bytes;
    this.#word = word;
  }

  after(start: number): number {
    if (this.#at < start) {
      const found = this.#bytes.indexOf(this.#word, start);
      this.#at = found === -1 ? this.#bytes.length : found;
    }
    return this.#at;
  }
}

/** Adds the objects of an object stream. Their numbers and offsets precede the first object. */
function addPacked(
  text: string,
  dictionary: string,
  add: (number: number, dictionary: string) => void,
): void {
  const first = Number(/\/First\s+(\d+)/.exec(dictionary)?.[1] ?? 0);
  const head = text.slice(0, first).trim().split(/\s+/).map(Number);
  for (let index = 0; index + 1 < head.length; index += 2) {
    const [number = 0, offset = 0, , next] = head.slice(index, index + 4);
    add(number, plainNames(text.slice(first + offset, next === undefined ? undefined : first + next)));
  }
}

class PageTree {
  readonly #pages = new Set<number>();
  /** Lists of pages that declare themselves as such or that a catalog references. */
  readonly #lists = new Set<number>();
  /** The references of each list, one entry per revision. A list may also be an object of its own. */
  readonly #kids = new Map<number, (readonly number[])[]>();
  readonly #counts = new Map<number, number>();
  #named = 0;
  #unclear = false;

  add(number: number, dictionary: string): void {
    this.#read(number, dictionary);
    // what looks like a comment may be part of a string, so both readings count
    if (dictionary.includes('%')) {
      this.#read(number, dictionary.replace(/%[^\r\n]*/g, ' '));
    }
  }

  /** The most pages a reader can reach from any list. Undefined where that cannot be determined. */
  get count(): number | undefined {
    let most = this.#pages.size;
    for (const list of this.#lists) {
      most = Math.max(most, this.#kids.has(list) ? this.#pagesUnder(list, 0) : 0);
    }
    return this.#unclear || most === 0 || !Number.isFinite(most) ? undefined : most;
  }

  #read(number: number, dictionary: string): void {
    if (dictionary.trimStart().startsWith('[')) {
      this.#name(number, referencesIn(dictionary));
      return;
    }
    if (dictionary.includes('/Pages')) {
      for (const [, list] of dictionary.matchAll(/\/Pages\s+(\d+)\s+\d+\s+R\b/g)) {
        this.#lists.add(Number(list));
      }
      if (/\/Type\s*\/Pages\b/.test(dictionary)) {
        this.#lists.add(number);
      }
    }
    if (dictionary.includes('/Kids')) {
      const parts = [...dictionary.matchAll(/\/Kids\s*(\[[^\]]*|\d+\s+\d+\s+R\b)/g)].map(
        ([, part = '']) => part,
      );
      // the end of the list cannot be determined
      this.#unclear ||= parts.some((part) => /[(<]/.test(part));
      this.#name(number, parts.flatMap(referencesIn));
    } else if (isPage(dictionary)) {
      this.#pages.add(number);
    }
  }

  #name(number: number, kids: readonly number[]): void {
    this.#named += kids.length;
    this.#unclear ||= this.#named > NAMED_MAX;
    if (!this.#unclear) {
      this.#kids.set(number, [...(this.#kids.get(number) ?? []), kids]);
    }
  }

  /** Returns the pages under a list. Infinite for a list that contains itself or is nested too deep. */
  #pagesUnder(number: number, depth: number): number {
    const revisions = this.#kids.get(number);
    if (!revisions) {
      return 1;
    }
    const known = this.#counts.get(number);
    if (known !== undefined || depth > DEPTH_MAX) {
      return known ?? Number.POSITIVE_INFINITY;
    }
    // until the count is known, reaching this list again means a cycle
    this.#counts.set(number, Number.POSITIVE_INFINITY);
    const counts = revisions.map((kids) =>
      kids.reduce((sum, kid) => sum + this.#pagesUnder(kid, depth + 1), 0),
    );
    const most = Math.max(...counts);
    this.#counts.set(number, most);
    return most;
  }
}

/** Returns whether an object is a page. A page may omit its type and is then recognized by its size and parent. */
function isPage(dictionary: string): boolean {
  return (
    /\/Type\s*\/Page\b/.test(dictionary) ||
    (dictionary.includes('/MediaBox') && dictionary.includes('/Parent') && !/\/Type\b/.test(dictionary))
  );
}
