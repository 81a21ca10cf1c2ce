import { isStepOver, type Steps } from '../lib/steps.ts';
import { type PdfStream, plainNames, referencesIn, unpackStream } from './pdf-stream.ts';

/** Most bytes that all streams with text may unpack to. */
const UNPACKED_TOTAL_MAX = 32 * 2 ** 20;
/** Most names of objects that are kept, and most names in contents that are looked up. */
const NAMES_MAX = 500_000;
/** A text of more than four letters that one code of a font stands for, in hex: longer than any ligature. */
const LONG_MAPPING = /<\s*(?:[0-9A-Fa-f]\s*){17}/;

/** Letters read between two looks at the clock. */
const LETTERS_PER_LOOK = 4_096;

const NAME = /\/([^\s()<>[\]{}/%]+)/g;
const NAMED_OBJECT = /\/([^\s()<>[\]{}/%]+)\s+(\d+)\s+\d+\s+R\b/g;
const CONTENTS = /\/Contents\s*(\[[^\]]*|\d+\s+\d+\s+R\b)/g;

/**
 * The text that the pages of a PDF show: strings of their content, and of the parts (forms) that they show by name, as often as they do.
 * Counts bytes, of which fonts make a letter from one or two. What cannot be determined is infinite.
 */
export class PdfText {
  readonly #bytes: Buffer;
  /** The streams of each object, one per revision. */
  readonly #streams = new Map<number, PdfStream[]>();
  readonly #named = new Map<string, Set<number>>();
  /** The contents of each page, one list per revision. */
  readonly #pages = new Map<number, (readonly number[])[]>();
  readonly #lists = new Map<number, readonly number[]>();
  readonly #numbers = new Map<number, number>();
  readonly #shown = new Map<number, number>();
  #names = 0;
  #lookups = 0;
  #unpacked = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Adds an object. `end` is the offset of the end of its dictionary; undefined for one without a stream. */
  add(number: number, dictionary: string, end?: number): void {
    if (end !== undefined && this.#bytes.toString('latin1', end, end + 'stream'.length) === 'stream') {
      this.#streams.set(number, [...(this.#streams.get(number) ?? []), { dictionary, end }]);
    }
    if (/^\s*\[/.test(dictionary)) {
      this.#lists.set(number, referencesIn(dictionary));
    } else if (/^\s*\d+\s*$/.test(dictionary)) {
      this.#numbers.set(number, Number(dictionary));
    }
    for (const [, name = '', object] of dictionary.matchAll(NAMED_OBJECT)) {
      this.#names += 1;
      const objects = this.#named.get(name) ?? new Set<number>();
      this.#named.set(name, this.#names > NAMES_MAX ? objects : objects.add(Number(object)));
    }
    const contents = [...dictionary.matchAll(CONTENTS)].flatMap(([, part = '']) => referencesIn(part));
    if (contents.length > 0) {
      this.#pages.set(number, [...(this.#pages.get(number) ?? []), contents]);
    }
  }

  /** Returns the bytes of text that `pages` pages show, in steps of a few ms. A page may be listed, and then shown, more than once. */
  *shownBytes(pages: number): Steps<number> {
    if (this.#names > NAMES_MAX || (yield* this.#mapsLong())) {
      return Number.POSITIVE_INFINITY;
    }
    let all = 0;
    for (const revisions of this.#pages.values()) {
      let most = 0;
      for (const contents of revisions) {
        let shown = 0;
        for (const object of contents.flatMap((one) => this.#lists.get(one) ?? [one])) {
          shown += yield* this.#shownBy(object, true);
        }
        most = Math.max(most, shown);
      }
      all += most;
    }
    const repeats = Math.ceil(pages / Math.max(1, this.#pages.size));
    return all * Math.max(1, repeats);
  }

  /** Returns whether a font makes many letters of one code. */
  *#mapsLong(): Steps<boolean> {
    for (const object of this.#named.get('ToUnicode') ?? []) {
      for (const stream of this.#streams.get(object) ?? []) {
        const text = this.#unpack(stream);
        yield undefined;
        if (text === undefined || LONG_MAPPING.test(text.slice(Math.max(0, text.indexOf('beginbf'))))) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns the bytes of text that an object shows. A page's content is read whatever it declares to be; an image shows no text. */
  *#shownBy(object: number, isContent: boolean): Steps<number> {
    const known = this.#shown.get(object);
    if (known !== undefined) {
      return known;
    }
    // until it is known, reaching the object again means that it shows itself
    this.#shown.set(object, Number.POSITIVE_INFINITY);
    let most = 0;
    for (const stream of this.#streams.get(object) ?? []) {
      if (isContent || !/\/Subtype\s*\/Image\b/.test(stream.dictionary)) {
        const text = this.#unpack(stream);
        yield undefined;
        most = Math.max(most, text === undefined ? Number.POSITIVE_INFINITY : yield* this.#shownIn(text));
      }
    }
    this.#shown.set(object, most);
    return most;
  }

  *#shownIn(text: string): Steps<number> {
    const uses = new Map<string, number>();
    for (const [, name = ''] of text.matchAll(NAME)) {
      this.#lookups += 1;
      if (this.#lookups > NAMES_MAX) {
        return Number.POSITIVE_INFINITY;
      }
      const plain = plainNames(name);
      if (this.#named.has(plain)) {
        uses.set(plain, (uses.get(plain) ?? 0) + 1);
      }
      if (isStepOver()) {
        yield undefined;
      }
    }
    let shown = yield* stringBytes(text);
    for (const [name, times] of uses) {
      let most = 0;
      for (const object of this.#named.get(name) ?? []) {
        most = Math.max(most, this.#streams.has(object) ? yield* this.#shownBy(object, false) : 0);
      }
      shown += most * times;
    }
    return shown;
  }

  #unpack(stream: PdfStream): string | undefined {
    const [, length, indirect] = /\/Length\s+(\d+)(\s+\d+\s+R\b)?/.exec(stream.dictionary) ?? [];
    const declared = indirect ? this.#numbers.get(Number(length)) : Number(length ?? 0);
    const text = unpackStream(this.#bytes, stream, UNPACKED_TOTAL_MAX - this.#unpacked, declared);
    this.#unpacked += text?.length ?? 0;
    return text;
  }
}

const [OPEN, CLOSE, ESCAPE, LESS, GREATER] = [...'()\\<>'].map((letter) => letter.charCodeAt(0));

/** Returns the bytes of all strings, in parentheses or in hex. What looks like a comment counts too: it may be part of a string. */
function* stringBytes(text: string): Steps<number> {
  let bytes = 0;
  let depth = 0;
  let hex = -1;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (index % LETTERS_PER_LOOK === 0 && isStepOver()) {
      yield undefined;
    }
    if (depth > 0) {
      bytes += 1;
      depth += code === OPEN ? 1 : code === CLOSE ? -1 : 0;
      index += code === ESCAPE ? 1 : 0;
    } else if (hex >= 0) {
      if (code === GREATER) {
        bytes += Math.ceil((index - hex) / 2);
        hex = -1;
      }
    } else if (code === OPEN) {
      depth = 1;
    } else if (code === LESS) {
      hex = text.charCodeAt(index + 1) === LESS ? -1 : index;
      index += hex === -1 ? 1 : 0;
    }
  }
  return hex >= 0 ? bytes + text.length - hex : bytes;
}
