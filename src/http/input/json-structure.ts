import { AppError } from '../../lib/errors.ts';

/** Far above what agents send (histories of a few thousand messages, schemas of about twenty levels). */
const DEPTH_MAX = 200;
const VALUES_MAX = 200_000;
/** Per list or object: above the longest context that is sent as tokens. */
const MEMBERS_MAX = 32_768;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** A list or object whose end has not arrived yet. */
export interface OpenContainer {
  readonly isList: boolean;
  /** Byte offset in the text of the name of an object's last member; -1 before the first one. */
  nameAt: number;
  members: number;
}

/**
 * Follows the structure of JSON text while its bytes arrive, and limits it: ten megabytes of `[],[],…` cost a process seconds and
 * gigabytes once they are parsed. Long strings are skipped at the speed of a byte search.
 */
export class JsonStructure {
  readonly #onComma: (at: number) => void;
  readonly #open: OpenContainer[] = [];
  #values = 0;
  /** Number of bytes before the current chunk. */
  #before = 0;
  #inString = false;
  #isName = false;
  #expectsName = false;
  /** Whether the string's last byte so far is a backslash that escapes the next one. */
  #escaping = false;

  /** `onComma` is called for every comma between two values, with its offset in the text. */
  constructor(onComma: (at: number) => void = () => undefined) {
    this.#onComma = onComma;
  }

  /** The open containers, from the outermost to the innermost. */
  get open(): readonly OpenContainer[] {
    return this.#open;
  }

  /** Whether the bytes so far end inside a string that is a value, not a name. */
  get isInText(): boolean {
    return this.#inString && !this.#isName;
  }

  /**
   * Adds the next bytes. Throws AppError invalid_request when they are nested deeper than 200 levels, or hold more than 200,000 values or
   * more than 32,768 in one list or object; invalid_json when a container ends that has not begun.
   */
  add(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      at = this.#inString ? this.#passString(bytes, at) : this.#passStructure(bytes, at);
    }
    this.#before += bytes.length;
  }

  #passString(bytes: Buffer, from: number): number {
    const quote = bytes.indexOf(QUOTE, from);
    const end = quote === -1 ? bytes.length : quote;
    let backslashes = 0;
    while (end - backslashes > from && bytes[end - backslashes - 1] === BACKSLASH) {
      backslashes += 1;
    }
    if (end - backslashes === from && this.#escaping) {
      backslashes += 1;
    }
    const isEscaped = backslashes % 2 === 1;
    this.#escaping = quote === -1 && isEscaped;
    this.#inString = quote === -1 || isEscaped;
    return quote === -1 ? bytes.length : quote + 1;
  }

  #passStructure(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      switch (bytes[at]) {
        case QUOTE:
          this.#beginString(this.#before + at);
          return at + 1;
        case COMMA:
          this.#count();
          this.#passComma();
          this.#onComma(this.#before + at);
          break;
        case OPEN_LIST:
          this.#begin(true);
          break;
        case OPEN_OBJECT:
          this.#begin(false);
          break;
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          this.#end();
          break;
        default:
      }
    }
    return bytes.length;
  }

  #beginString(at: number): void {
    this.#inString = true;
    this.#isName = this.#expectsName;
    this.#expectsName = false;
    const object = this.#open.at(-1);
    if (this.#isName && object) {
      object.nameAt = at;
    }
  }

  #passComma(): void {
    const container = this.#open.at(-1);
    if (container) {
      container.members += 1;
      this.#expectsName = !container.isList;
      if (container.members > MEMBERS_MAX) {
        throw new AppError(
          'invalid_request',
          `the body has a list or object of more than ${MEMBERS_MAX} values`,
        );
      }
    }
  }

  #begin(isList: boolean): void {
    this.#open.push({ isList, nameAt: -1, members: 1 });
    this.#expectsName = !isList;
    this.#count();
    if (this.#open.length > DEPTH_MAX) {
      throw new AppError('invalid_request', `the body is nested deeper than ${DEPTH_MAX} levels`);
    }
  }

  #end(): void {
    this.#expectsName = false;
    if (!this.#open.pop()) {
      throw invalidJson();
    }
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > VALUES_MAX) {
      throw new AppError('invalid_request', `the body holds more than ${VALUES_MAX} values`);
    }
  }
}

export function invalidJson(): AppError {
  return new AppError('invalid_json', 'the body is not valid JSON');
}
