import { AppError } from '../lib/errors.ts';

/** Far above what agents send (histories of some thousand messages, schemas of some twenty levels). */
const DEPTH_MAX = 200;
const VALUES_MAX = 200_000;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Bounds the structure of JSON text while its bytes come in: ten megabytes of `[],[],…` cost a process seconds and gigabytes once they
 * are parsed. Long strings are passed over at the speed of a search.
 */
export class JsonStructure {
  #depth = 0;
  #values = 0;
  #inString = false;
  /** Whether the string's last byte so far is a backslash that escapes the next one. */
  #escaping = false;

  /** Takes the next bytes. Throws AppError invalid_request once they are nested deeper than 200 levels or hold more than 200,000 values. */
  add(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      at = this.#inString ? this.#passString(bytes, at) : this.#passStructure(bytes, at);
    }
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
          this.#inString = true;
          return at + 1;
        case COMMA:
          this.#count();
          break;
        case OPEN_LIST:
        case OPEN_OBJECT:
          this.#open();
          break;
        case CLOSE_LIST:
        case CLOSE_OBJECT:
          this.#depth -= 1;
          break;
        default:
      }
    }
    return bytes.length;
  }

  #open(): void {
    this.#depth += 1;
    this.#count();
    if (this.#depth > DEPTH_MAX) {
      throw new AppError('invalid_request', `the body is nested deeper than ${DEPTH_MAX} levels`);
    }
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > VALUES_MAX) {
      throw new AppError('invalid_request', `the body holds more than ${VALUES_MAX} values`);
    }
  }
}
