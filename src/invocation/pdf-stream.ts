import { constants, inflateSync } from 'node:zlib';

/** Most bytes that one stream may unpack to. */
const UNPACKED_MAX = 8 * 2 ** 20;

/** Where a stream is in a document. */
export interface PdfStream {
  /** The dictionary as text, with escaped names decoded. */
  readonly dictionary: string;
  /** Offset of the end of the dictionary, where the word `stream` is. */
  readonly end: number;
}

/** Decodes letters of names written as #xx. */
export function plainNames(text: string): string {
  return text.includes('#')
    ? text.replace(/#([0-9a-fA-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
}

/** Returns the numbers of the objects that a text refers to. */
export function referencesIn(text: string): number[] {
  return Array.from(text.matchAll(/(\d+)\s+\d+\s+R\b/g), ([, number]) => Number(number));
}

/**
 * Returns the content of a stream as text, at most `bytesMax` bytes of it. Undefined for a stream that is packed in another way than most
 * are, is encrypted, damaged or too large. `length` is its declared length: the word that ends a stream may be part of its content.
 */
export function unpackStream(
  bytes: Buffer,
  { dictionary, end }: PdfStream,
  bytesMax: number,
  length = 0,
): string | undefined {
  const start = bytes.indexOf('\n', end) + 1;
  const stop = Math.max(bytes.indexOf('endstream', start), bytes.indexOf('endstream', start + length));
  if (start === 0 || stop === -1 || dictionary.includes('/DecodeParms')) {
    return undefined;
  }
  const most = Math.max(1, Math.min(UNPACKED_MAX, bytesMax));
  let content: Buffer | undefined = bytes.subarray(start, stop);
  for (const filter of filtersOf(dictionary)) {
    content = content && FILTERS[filter]?.(content, most);
  }
  return content && content.length <= most ? content.toString('latin1') : undefined;
}

type Unpack = (packed: Buffer, bytesMax: number) => Buffer | undefined;

const FILTERS: Readonly<Record<string, Unpack>> = { FlateDecode: inflated, ASCII85Decode: fromAscii85 };

/** Returns the names of the filters, the outermost first. One that no document should have stands for a list that cannot be read. */
function filtersOf(dictionary: string): readonly string[] {
  const [first, ...others] = dictionary.matchAll(/\/Filter(?![A-Za-z])/g);
  if (!first) {
    return [];
  }
  const [, list, single] =
    /^\s*(?:\[([^\]]*)\]|\/(\w+))/.exec(dictionary.slice(first.index + '/Filter'.length)) ?? [];
  const names = list === undefined ? single && [single] : list.match(/[^\s/]+/g);
  return names && others.length === 0 ? names : ['unclear'];
}

function inflated(packed: Buffer, maxOutputLength: number): Buffer | undefined {
  try {
    return inflateSync(packed, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    // encrypted, damaged or too large: what it holds is unknown
    return undefined;
  }
}

const [FIRST, ZERO, END] = [...'!z~'].map((letter) => letter.charCodeAt(0)) as [number, number, number];

/** Decodes Adobe's base 85, in which ReportLab writes: five letters for four bytes, `z` for four zeros. */
function fromAscii85(packed: Buffer, bytesMax: number): Buffer | undefined {
  if (packed.length > bytesMax) {
    return undefined;
  }
  const bytes = Buffer.alloc(packed.length * 4);
  let length = 0;
  let group = 0;
  let letters = 0;
  for (const code of packed) {
    if (code === END) {
      break;
    }
    if (code === ZERO && letters === 0) {
      length += 4;
    } else if (code >= FIRST && code < FIRST + 85) {
      group = group * 85 + (code - FIRST);
      letters += 1;
      if (letters === 5) {
        length = bytes.writeUInt32BE(group % 2 ** 32, length);
        group = 0;
        letters = 0;
      }
    }
  }
  if (letters > 1) {
    const whole = group * 85 ** (5 - letters) + (85 ** (5 - letters) - 1);
    bytes.writeUInt32BE(whole % 2 ** 32, length);
    length += letters - 1;
  }
  return bytes.subarray(0, length);
}
