import { constants, inflateSync } from 'node:zlib';

/** Base64 that is decoded at a time, in characters: 1 MB takes about a ms. */
const DECODE_STEP = 2 ** 20;
/** The mark of a PDF stands within so many bytes. */
const MARK_BYTES = 1_024;
/** One dictionary is read so far, in bytes: the list of 50,000 pages. */
const DICTIONARY_BYTES_MAX = 2 ** 20;
/** Objects of a document; more are not counted. */
const OBJECTS_MAX = 200_000;
const OBJECTS_PER_STEP = 200;
/** Dictionaries that are read in one step, in bytes: a step ends with the object that passes them. */
const STEP_BYTES = 2 ** 18;
/** What packed objects are unpacked to, in bytes: one stream of them, and all. */
const UNPACKED_MAX = 8 * 2 ** 20;
const UNPACKED_TOTAL_MAX = 64 * 2 ** 20;
/** References in lists, and lists within lists. */
const NAMED_MAX = 500_000;
const DEPTH_MAX = 64;

/**
 * At least as many pages as a PDF (base64) shows, in steps of a few ms; undefined for what is none, is encrypted or packed in a way that
 * hides its pages, or holds too much. Every object counts that is a page, and every time that lists of pages name one, in all revisions of
 * the document: unlike the number that it gives of itself, that cannot be too small.
 */
export function* countPdfPages(base64: string): Generator<undefined, number | undefined> {
  const bytes = yield* decoded(base64);
  if (bytes.subarray(0, MARK_BYTES).indexOf('%PDF-') === -1) {
    return undefined;
  }
  const pages = new PageTree();
  let unpacked = 0;
  let objects = 0;
  // dictionaries stand side by side: together they cannot be longer than the document, unless somebody wants to keep us busy
  let readable = bytes.length + DICTIONARY_BYTES_MAX;
  let inStep = 0;
  for (const object of objectsIn(bytes)) {
    objects += 1;
    readable -= object.dictionary.length;
    // an object costs time beside its bytes
    inStep += object.dictionary.length + STEP_BYTES / OBJECTS_PER_STEP;
    if (objects > OBJECTS_MAX || readable < 0) {
      return undefined;
    }
    if (/\/Type\s*\/ObjStm\b/.test(object.dictionary)) {
      const text = unpack(bytes, object, UNPACKED_TOTAL_MAX - unpacked);
      if (text === undefined) {
        return undefined;
      }
      unpacked += text.length;
      addPacked(text, object.dictionary, pages);
      inStep = STEP_BYTES;
    } else {
      pages.add(object.number, object.dictionary);
    }
    if (inStep >= STEP_BYTES) {
      inStep = 0;
      yield undefined;
    }
  }
  return pages.count;
}

interface PdfObject {
  readonly number: number;
  /** As text, names written plainly. */
  readonly dictionary: string;
  /** Where the dictionary ends. */
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

/** Every object, wherever it stands: what looks like one inside of a stream may be one to another reader. */
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

/** Where a word stands next: looked for once, not for each object before it. */
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

/** Letters of names may be written as #xx. */
function plainNames(text: string): string {
  return text.includes('#')
    ? text.replace(/#([0-9a-fA-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
}

function unpack(bytes: Buffer, { dictionary, end }: PdfObject, bytesMax: number): string | undefined {
  const start = bytes.indexOf('\n', end) + 1;
  const stop = bytes.indexOf('endstream', start);
  const filter = /\/Filter\s*(?:\[\s*)?\/(\w+)\s*(?:\]|\/(?!\w+Decode)|>)/.exec(dictionary)?.[1];
  if (start === 0 || stop === -1 || dictionary.includes('/DecodeParms')) {
    return undefined;
  }
  const packed = bytes.subarray(start, stop);
  if (!dictionary.includes('/Filter')) {
    return packed.toString('latin1');
  }
  if (filter !== 'FlateDecode') {
    return undefined;
  }
  try {
    const maxOutputLength = Math.max(1, Math.min(UNPACKED_MAX, bytesMax));
    return inflateSync(packed, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1');
  } catch {
    // encrypted, damaged or too large: its pages are not known
    return undefined;
  }
}

/** Objects of an object stream: their numbers and places stand in front of the first. */
function addPacked(text: string, dictionary: string, pages: PageTree): void {
  const first = Number(/\/First\s+(\d+)/.exec(dictionary)?.[1] ?? 0);
  const head = text.slice(0, first).trim().split(/\s+/).map(Number);
  for (let index = 0; index + 1 < head.length; index += 2) {
    const [number = 0, offset = 0, , next] = head.slice(index, index + 4);
    pages.add(number, plainNames(text.slice(first + offset, next === undefined ? undefined : first + next)));
  }
}

class PageTree {
  readonly #pages = new Set<number>();
  /** The lists of pages that say so, or that a catalog names. */
  readonly #lists = new Set<number>();
  /** What each list names, one entry for each revision of it; a list may stand in an object of its own. */
  readonly #kids = new Map<number, (readonly number[])[]>();
  readonly #counts = new Map<number, number>();
  #named = 0;
  #unclear = false;

  add(number: number, dictionary: string): void {
    this.#read(number, dictionary);
    // what looks like a comment may stand in a text: both ways to read it count
    if (dictionary.includes('%')) {
      this.#read(number, dictionary.replace(/%[^\r\n]*/g, ' '));
    }
  }

  /** The most pages that a reader can come to from any list; undefined where that cannot be known. */
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
      // where the list ends cannot be told
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

  /** Infinite for a list that names itself, or is too deep. */
  #pagesUnder(number: number, depth: number): number {
    const revisions = this.#kids.get(number);
    if (!revisions) {
      return 1;
    }
    const known = this.#counts.get(number);
    if (known !== undefined || depth > DEPTH_MAX) {
      return known ?? Number.POSITIVE_INFINITY;
    }
    // until it is known, a list that comes back to this one is a circle
    this.#counts.set(number, Number.POSITIVE_INFINITY);
    const counts = revisions.map((kids) =>
      kids.reduce((sum, kid) => sum + this.#pagesUnder(kid, depth + 1), 0),
    );
    const most = Math.max(...counts);
    this.#counts.set(number, most);
    return most;
  }
}

function referencesIn(text: string): number[] {
  return Array.from(text.matchAll(/(\d+)\s+\d+\s+R\b/g), ([, number]) => Number(number));
}

/** A page may leave out what it is: then its size and its place in the tree tell. */
function isPage(dictionary: string): boolean {
  return (
    /\/Type\s*\/Page\b/.test(dictionary) ||
    (dictionary.includes('/MediaBox') && dictionary.includes('/Parent') && !/\/Type\b/.test(dictionary))
  );
}
