import { type FileHandle, open, rm } from 'node:fs/promises';
import type { FileContent } from '../lib/file-content.ts';
import { textOf } from '../upstream/read-body.ts';
import { EngineError, type EngineFailure, onScratchDisk } from './engine.types.ts';
import { MALFORMED } from './engine-failures.ts';
import { parseJson } from './upstream-answer.ts';

export interface Diversion {
  /** The name of the JSON members whose values are base64 strings or lists of them, e.g. `b64_json`. */
  readonly member: string;
  /** Returns whether the file with that index (from 0) is kept. */
  readonly wants: (index: number) => boolean;
  /** Returns the path for a kept file that is too large for memory. */
  readonly pathFor: (index: number) => string;
  /** Maximum size of one decoded file, in bytes. */
  readonly fileBytesMax: number;
}

export interface DivertedJson {
  /** The document with `#0`, `#1`, … in place of the diverted values; undefined when it is not JSON. */
  readonly json: unknown;
  /** The kept files in order: small ones in memory, others on disk. */
  readonly files: readonly FileContent[];
}

const TOO_LARGE: EngineFailure = {
  code: 'output_too_large',
  message: 'the output exceeds the maximum size',
  retryable: false,
};

/** Maximum size of the document without its diverted values, in bytes. */
const REST_BYTES_MAX = 1024 * 1024;
const FILES_MAX = 16;
/** Maximum decoded size of a file that stays in memory, in bytes. Most images fit, videos do not. */
const MEMORY_BYTES_MAX = 4 * 1024 * 1024;
const NAME_LENGTH_MAX = 64;
const DATA_URL = 'data:';
/** Maximum length of the part of a data URL before its comma. */
const DATA_URL_LENGTH_MAX = 256;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;
const COMMA = 0x2c;
const LIST = 0x5b;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/g;
/** An escape whose end is in the next chunk. */
const CUT_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;
const CUT_ESCAPE_LENGTH_MAX = 5;

/**
 * Reads a JSON document that carries base64 files without ever holding a large one in memory: large files are streamed to disk, and the
 * rest of the document is small. Throws EngineError `output_too_large` or `upstream_malformed`, or ScratchDiskError, after deleting the files
 * written so far.
 */
export async function divertBase64(
  chunks: AsyncIterable<Buffer>,
  diversion: Diversion,
): Promise<DivertedJson> {
  const reader = new DivertingReader(diversion);
  try {
    for await (const chunk of chunks) {
      await reader.feed(chunk);
    }
    return await reader.finish();
  } catch (error) {
    await reader.discard();
    throw error;
  }
}

class DivertingReader {
  readonly #diversion: Diversion;
  readonly #rest: Buffer[] = [];
  readonly #files: FileContent[] = [];
  /** Files on disk, including incomplete ones. */
  readonly #paths: string[] = [];
  #restBytes = 0;
  #count = 0;
  #state: 'between' | 'text' | 'value' = 'between';
  #escaped = false;
  #name = '';
  #named = false;
  /** Whether we are between the items of a list in the member. */
  #listed = false;
  /** The decoded bytes of the current value while they are small; undefined when the value is unwanted or on disk. */
  #memory: Buffer[] | undefined;
  #file: FileHandle | undefined;
  #fileBytes = 0;
  #carry = '';
  /** The beginning of an escape that the last chunk cut. */
  #cut = '';
  /** Whether the value may still begin as a data URL. */
  #isHead = false;

  constructor(diversion: Diversion) {
    this.#diversion = diversion;
  }

  async feed(chunk: Buffer): Promise<void> {
    let at = 0;
    while (at < chunk.length) {
      at = this.#state === 'value' ? await this.#takeValue(chunk, at) : await this.#takeRest(chunk, at);
    }
  }

  async finish(): Promise<DivertedJson> {
    if (this.#state === 'value') {
      throw new EngineError(MALFORMED);
    }
    return { json: parseJson(textOf(Buffer.concat(this.#rest))), files: this.#files };
  }

  async discard(): Promise<void> {
    await this.#file?.close();
    await Promise.all(this.#paths.map((path) => rm(path, { force: true })));
  }

  /** Copies bytes up to the next diverted value. Returns the offset where that value begins, or the end of the chunk. */
  async #takeRest(chunk: Buffer, from: number): Promise<number> {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      const begins = this.#state === 'between' && byte === QUOTE && this.#named;
      if (begins) {
        this.#keep(chunk.subarray(from, at + 1));
        this.#beginValue();
        return at + 1;
      }
      this.#step(byte);
    }
    this.#keep(chunk.subarray(from));
    return chunk.length;
  }

  #step(byte: number): void {
    if (this.#state === 'text') {
      this.#stepInText(byte);
    } else if (byte === QUOTE) {
      this.#state = 'text';
      this.#name = '';
      this.#named = false;
    } else if (byte === COLON) {
      this.#named = this.#name === this.#diversion.member;
      this.#listed = false;
    } else if (byte === LIST && this.#named) {
      this.#listed = true;
    } else if (byte === COMMA && this.#listed) {
      this.#named = true;
    } else if (byte > SPACE) {
      this.#name = '';
      this.#named = false;
      this.#listed = false;
    }
  }

  #stepInText(byte: number): void {
    if (this.#escaped) {
      this.#escaped = false;
    } else if (byte === BACKSLASH) {
      this.#escaped = true;
    } else if (byte === QUOTE) {
      this.#state = 'between';
    } else if (this.#name.length < NAME_LENGTH_MAX) {
      this.#name += String.fromCharCode(byte);
    }
  }

  #beginValue(): void {
    if (this.#count >= FILES_MAX) {
      throw new EngineError(MALFORMED);
    }
    this.#keep(Buffer.from(`#${this.#count}`));
    this.#memory = this.#diversion.wants(this.#count) ? [] : undefined;
    this.#count += 1;
    this.#state = 'value';
    this.#named = false;
    this.#fileBytes = 0;
    this.#carry = '';
    this.#cut = '';
    this.#isHead = true;
  }

  async #takeValue(chunk: Buffer, from: number): Promise<number> {
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote === -1 ? chunk.length : quote;
    const written = this.#cut + chunk.toString('latin1', from, end);
    this.#cut = quote === -1 ? (CUT_ESCAPE.exec(written.slice(-CUT_ESCAPE_LENGTH_MAX))?.[0] ?? '') : '';
    const seen = this.#carry + unescaped(written.slice(0, written.length - this.#cut.length));
    const text = this.#isHead ? withoutDataUrl(seen, quote !== -1) : seen;
    if (text === undefined) {
      this.#carry = seen;
      return chunk.length;
    }
    this.#isHead = false;
    const whole = quote === -1 ? text.length - (text.length % 4) : text.length;
    this.#carry = text.slice(whole);
    await this.#write(text.slice(0, whole));
    if (quote === -1) {
      return chunk.length;
    }
    await this.#endValue();
    this.#state = 'between';
    this.#keep(chunk.subarray(quote, quote + 1));
    return quote + 1;
  }

  async #endValue(): Promise<void> {
    if (this.#memory) {
      this.#files.push(Buffer.concat(this.#memory));
      this.#memory = undefined;
    } else if (this.#file) {
      const file = this.#file;
      this.#file = undefined;
      await onScratchDisk(() => file.close());
      this.#files.push(this.#paths.at(-1) ?? '');
    }
  }

  async #write(base64: string): Promise<void> {
    this.#fileBytes += Math.floor((base64.length * 3) / 4);
    if (this.#fileBytes > this.#diversion.fileBytesMax) {
      throw new EngineError(TOO_LARGE);
    }
    const bytes = Buffer.from(base64, 'base64');
    if (this.#memory && this.#fileBytes > MEMORY_BYTES_MAX) {
      await this.#moveToDisk(this.#memory);
    }
    if (this.#memory) {
      this.#memory.push(bytes);
    } else {
      await onScratchDisk(async () => this.#file?.writeFile(bytes));
    }
  }

  async #moveToDisk(memory: readonly Buffer[]): Promise<void> {
    this.#memory = undefined;
    await onScratchDisk(async () => {
      const path = this.#diversion.pathFor(this.#count - 1);
      this.#file = await open(path, 'w');
      this.#paths.push(path);
      await this.#file.writeFile(Buffer.concat(memory));
    });
  }

  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (this.#restBytes > REST_BYTES_MAX) {
      throw new EngineError(MALFORMED);
    }
    this.#rest.push(bytes);
  }
}

/**
 * Returns base64 as it was before it became JSON. Any of its characters may be escaped (.NET escapes `+`, Gson `=`, PHP `/`), and some
 * encoders break its lines.
 */
function unescaped(json: string): string {
  if (!json.includes('\\')) {
    return json;
  }
  return json
    .replace(ESCAPE, (_, code: string | undefined, character: string) =>
      code === undefined ? unescapedCharacter(character) : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replace(/\s+/g, '');
}

function unescapedCharacter(character: string): string {
  return 'bfnrt'.includes(character) ? '' : character;
}

/** Returns base64 without the `data:image/png;base64,` that some servers put before it; undefined if more of it must be seen. */
function withoutDataUrl(text: string, isWhole: boolean): string | undefined {
  if (!text.startsWith(DATA_URL.slice(0, text.length))) {
    return text;
  }
  const comma = text.indexOf(',');
  const isUndecided = comma === -1 && !isWhole && text.length < DATA_URL_LENGTH_MAX;
  return isUndecided ? undefined : text.slice(comma + 1);
}
