import { randomUUID } from 'node:crypto';
import { AppError } from '../../lib/errors.ts';
import { invalidJson, JsonStructure } from './json-structure.ts';

/** Bytes parsed at a time: 1 to 3 ms of work. Shorter texts are parsed whole. */
const PIECE_BYTES = 128 * 1024;
/**
 * Maximum bytes between two places where the text can be cut, which are commas and the insides of strings. Only names, numbers and
 * whitespace count toward it, and no real body has such long ones.
 */
const UNCUT_BYTES_MAX = 1024 * 1024;
/** Bytes scanned between two checks of whether a piece is full. */
const LOOK_BYTES = 64 * 1024;
/** Length of an escape such as `\uXXXX`. */
const ESCAPE_BYTES_MAX = 6;

/**
 * Member name under which a piece contains a container that an earlier piece began. It is random, so that no client can send a member of
 * this name.
 */
const BEGUN = randomUUID();

const [QUOTE, BACKSLASH, LETTER_U] = [0x22, 0x5c, 0x75];
const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d]);
const OPENERS = new Set([0x5b, 0x7b]);

const firstText = new TextDecoder('utf-8', { fatal: true });
/** A piece that begins inside a string may begin with U+FEFF, which is an ordinary character there. */
const laterText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Container = unknown[] | Record<string, unknown>;

/** A list or object that was open at the last cut; for an object, with the name of its last member. */
interface Begun {
  readonly container: Container;
  readonly name: string | undefined;
}

/**
 * Parses JSON piece by piece while its bytes arrive, so that no body blocks the event loop. A piece ends at a comma or inside a string.
 * It is completed with the brackets that are open there and parsed by JSON.parse; its values are then added to the earlier ones. Accepts
 * the same texts as JSON.parse and returns the same value, except that members named `__proto__` are left out.
 */
export class JsonPieces {
  readonly #pieceBytes: number;
  readonly #structure = new JsonStructure((at) => this.#cutAtComma(at));
  /** Holds the single value of the text. */
  readonly #root: unknown[] = [];
  /** Bytes that are not parsed yet. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Offset of the pending bytes in the text. */
  #parsedBytes = 0;
  #begun: readonly Begun[] = [{ container: this.#root, name: undefined }];
  /** Whether the last cut was inside a string. */
  #inText = false;

  /** `pieceBytes` is set by tests only. */
  constructor(pieceBytes = PIECE_BYTES) {
    this.#pieceBytes = pieceBytes;
  }

  /** Adds the next bytes. Throws AppError invalid_json, and invalid_request beyond the limits of {@link JsonStructure}. */
  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += LOOK_BYTES) {
      const part = bytes.subarray(at, at + LOOK_BYTES);
      this.#pending.push(part);
      this.#pendingBytes += part.length;
      this.#structure.add(part);
      if (this.#pendingBytes >= this.#pieceBytes && this.#structure.isInText) {
        this.#cutText();
      }
      if (this.#pendingBytes > this.#pieceBytes + UNCUT_BYTES_MAX) {
        throw new AppError(
          'invalid_request',
          `the body has a name, a number or whitespace of more than ${UNCUT_BYTES_MAX} bytes`,
        );
      }
    }
  }

  /** Returns the value, once all bytes were added. Throws AppError invalid_json. */
  end(): unknown {
    if (this.#parsedBytes + this.#pendingBytes === 0) {
      throw new AppError('invalid_json', 'the body is empty');
    }
    this.#addValues(this.#parse(this.#take(this.#pendingBytes), ']'));
    if (this.#root.length !== 1) {
      throw invalidJson();
    }
    return this.#root[0];
  }

  #cutAtComma(comma: number): void {
    const length = comma - this.#parsedBytes;
    if (length < this.#pieceBytes) {
      return;
    }
    const piece = this.#take(length);
    // cut before its comma and closed, `[,` would become an empty list
    if (endsOpening(piece)) {
      throw invalidJson();
    }
    this.#endPiece(piece, false);
  }

  #cutText(): void {
    const length = completeLength(Buffer.concat(this.#pending));
    if (length > 0) {
      this.#endPiece(this.#take(length), true);
    }
  }

  /** Removes the first pending bytes and returns them. */
  #take(length: number): Buffer {
    const bytes = Buffer.concat(this.#pending);
    const rest = bytes.subarray(length);
    this.#pending = [rest];
    this.#pendingBytes = rest.length;
    return bytes.subarray(0, length);
  }

  #endPiece(piece: Buffer, inText: boolean): void {
    const { open } = this.#structure;
    const closers = open.map(({ isList }) => (isList ? ']' : '}')).reverse();
    this.#addValues(this.#parse(piece, `${inText ? '"' : ''}${closers.join('')}]`));
    const names = open.map(({ nameAt }, level) =>
      nameAt < this.#parsedBytes ? this.#begun[level + 1]?.name : nameIn(piece, nameAt - this.#parsedBytes),
    );
    this.#parsedBytes += piece.length;
    this.#inText = inText;
    let parent: Begun = { container: this.#root, name: undefined };
    this.#begun = [
      parent,
      ...names.map((name) => {
        parent = { container: lastValue(parent) as Container, name };
        return parent;
      }),
    ];
  }

  #parse(piece: Buffer, closers: string): unknown {
    const isFirst = this.#parsedBytes === 0;
    const openers = this.#begun.map(({ container }) => (Array.isArray(container) ? '[' : `{"${BEGUN}":`));
    const before = isFirst ? '[' : `${openers.join('')}${this.#inText ? '"' : '0'}`;
    let value: unknown;
    try {
      value = JSON.parse(`${before}${(isFirst ? firstText : laterText).decode(piece)}${closers}`);
    } catch {
      throw invalidJson();
    }
    if (mayNamePrototype(piece)) {
      removePrototypes(value);
    }
    return value;
  }

  /** Adds the values of a piece to the containers that it continues. */
  #addValues(parsed: unknown): void {
    if (this.#parsedBytes === 0) {
      addMembers(this.#root, parsed as Container, 0);
      return;
    }
    const parts: Container[] = [];
    let inner = parsed;
    for (const _ of this.#begun) {
      const part = inner as Container;
      parts.push(part);
      inner = Array.isArray(part) ? part[0] : part[BEGUN];
    }
    const innermost = this.#begun.at(-1);
    if (this.#inText && innermost) {
      appendText(innermost, inner as string);
    }
    for (const [level, { container }] of this.#begun.entries()) {
      addMembers(container, parts[level] ?? [], 1);
    }
  }
}

/** Adds the members of a piece except for the first `begun` ones, which are already there. */
function addMembers(container: Container, piece: Container, begun: number): void {
  if (Array.isArray(container)) {
    const items = piece as unknown[];
    for (let index = begun; index < items.length; index += 1) {
      container.push(items[index]);
    }
    return;
  }
  const members = piece as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    if (name !== BEGUN) {
      container[name] = members[name];
    }
  }
}

function appendText({ container, name = '' }: Begun, text: string): void {
  if (Array.isArray(container)) {
    container.push(`${container.pop() as string}${text}`);
  } else {
    container[name] = `${container[name] as string}${text}`;
  }
}

function lastValue({ container, name = '' }: Begun): unknown {
  return Array.isArray(container) ? container.at(-1) : container[name];
}

function endsOpening(piece: Buffer): boolean {
  let last = piece.length - 1;
  while (last >= 0 && BLANKS.has(piece[last] ?? 0)) {
    last -= 1;
  }
  return last < 0 || OPENERS.has(piece[last] ?? 0);
}

/**
 * Returns the name of the member whose quote is at `at`. Throws AppError invalid_request for `__proto__`, which is too late to leave out.
 */
function nameIn(piece: Buffer, at: number): string {
  let end = at + 1;
  while (piece[end] !== QUOTE) {
    end += piece[end] === BACKSLASH ? 2 : 1;
  }
  const name = JSON.parse(piece.toString('utf8', at, end + 1)) as string;
  if (name === '__proto__') {
    throw new AppError('invalid_request', 'a member named __proto__ is too large');
  }
  return name;
}

/** Returns the largest length of an unfinished string that ends neither inside an escape nor inside a character. */
function completeLength(bytes: Buffer): number {
  const { length } = bytes;
  const tail = Math.max(0, length - ESCAPE_BYTES_MAX);
  const slash = tail + bytes.subarray(tail).lastIndexOf(BACKSLASH);
  if (slash >= tail && beginsEscape(bytes, slash)) {
    const needed = bytes[slash + 1] === LETTER_U ? ESCAPE_BYTES_MAX : 2;
    if (slash + needed > length) {
      return slash;
    }
  }
  for (let back = 1; back <= 3; back += 1) {
    const byte = bytes[length - back] ?? 0;
    if (byte < 0x80) {
      break;
    }
    if (byte >= 0xc0) {
      return characterBytes(byte) > back ? length - back : length;
    }
  }
  return length;
}

/** Returns whether a backslash begins an escape. After an odd number of backslashes it is itself escaped. */
function beginsEscape(bytes: Buffer, slash: number): boolean {
  let before = 0;
  while (bytes[slash - 1 - before] === BACKSLASH) {
    before += 1;
  }
  return before % 2 === 0;
}

/** Returns the length of a character in UTF-8, in bytes, from its first byte. */
function characterBytes(first: number): number {
  if (first >= 0xf0) {
    return 4;
  }
  return first >= 0xe0 ? 3 : 2;
}

/** Returns whether the text may contain the name `__proto__`, plain or escaped. Few do, and the walk costs as much as parsing. */
function mayNamePrototype(bytes: Buffer): boolean {
  return bytes.includes('__proto__') || bytes.includes('\\u00');
}

/** Removes members named `__proto__`. JSON.parse makes them own members, but a later copy would turn them into a prototype. */
function removePrototypes(value: unknown): void {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  if (Object.hasOwn(value, '__proto__')) {
    Reflect.deleteProperty(value, '__proto__');
  }
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const member of members) {
    removePrototypes(member);
  }
}
