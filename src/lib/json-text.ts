import { isStepOver, type Steps } from './steps.ts';

/** Maximum length written in one go, in UTF-16 units: less than 1 ms of work. */
const PART_LENGTH = 65_536;
/** Length that a value counts for in addition to its text. */
const VALUE_LENGTH = 16;
/** Maximum length of a value that counts as short. */
const SHORT_LENGTH = 4 * PART_LENGTH;

/** Returns whether a value takes negligible time to serialize as JSON. */
export function isShortJson(value: unknown): boolean {
  return lengthWithin(value, SHORT_LENGTH) >= 0;
}

/** Returns what JSON.stringify writes, as UTF-8 in parts: assembling one buffer of tens of megabytes would take long. */
export function* jsonInSteps(value: unknown): Steps<Buffer[]> {
  const writer = new Writer((text) => Buffer.from(text));
  yield* write(value, writer);
  return writer.end();
}

/** Returns what JSON.stringify writes. */
export function* jsonTextInSteps(value: unknown): Steps<string> {
  const writer = new Writer((text) => text);
  yield* write(value, writer);
  return writer.end().join('');
}

function* write(value: unknown, writer: Writer<unknown>): Steps<void> {
  if (lengthWithin(value, PART_LENGTH) >= 0) {
    writer.add(JSON.stringify(value));
    if (writer.isFull) {
      writer.endPart();
    }
    if (isStepOver()) {
      yield undefined;
    }
  } else if (typeof value === 'string') {
    yield* writeText(value, writer);
  } else if (Array.isArray(value)) {
    yield* writeList(value, writer);
  } else {
    yield* writeObject(value as Record<string, unknown>, writer);
  }
}

function* writeList(items: readonly unknown[], writer: Writer<unknown>): Steps<void> {
  for (const [index, item] of items.entries()) {
    writer.add(index === 0 ? '[' : ',');
    yield* write(item ?? null, writer);
  }
  writer.add(']');
}

function* writeObject(object: Record<string, unknown>, writer: Writer<unknown>): Steps<void> {
  let before = '{';
  for (const name of Object.keys(object)) {
    if (object[name] !== undefined) {
      writer.add(`${before}${JSON.stringify(name)}:`);
      yield* write(object[name], writer);
      before = ',';
    }
  }
  writer.add(before === '{' ? '{}' : '}');
}

function* writeText(text: string, writer: Writer<unknown>): Steps<void> {
  writer.add('"');
  for (let start = 0; start < text.length; ) {
    const end = characterEnd(text, start + PART_LENGTH);
    writer.add(JSON.stringify(text.slice(start, end)).slice(1, -1));
    start = end;
    writer.endPart();
    if (isStepOver()) {
      yield undefined;
    }
  }
  writer.add('"');
}

/** Returns `at`, or one less if that would split a surrogate pair, whose halves would be written as escapes. */
function characterEnd(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  return at < text.length && unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at;
}

/** Collects text in parts. */
class Writer<Part> {
  readonly #partOf: (text: string) => Part;
  readonly #parts: Part[] = [];
  #text = '';

  constructor(partOf: (text: string) => Part) {
    this.#partOf = partOf;
  }

  get isFull(): boolean {
    return this.#text.length >= PART_LENGTH;
  }

  add(text: string): void {
    this.#text += text;
  }

  endPart(): void {
    this.#parts.push(this.#partOf(this.#text));
    this.#text = '';
  }

  end(): Part[] {
    this.endPart();
    return this.#parts;
  }
}

/** Returns `most` minus the value's length; stops and returns a negative number as soon as the value is longer. */
function lengthWithin(value: unknown, most: number): number {
  let left = most - VALUE_LENGTH;
  if (typeof value === 'string') {
    return left - value.length;
  }
  if (typeof value !== 'object' || value === null) {
    return left;
  }
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left >= 0; index += 1) {
      left = lengthWithin(value[index], left);
    }
    return left;
  }
  for (const name of Object.keys(value)) {
    left = lengthWithin((value as Record<string, unknown>)[name], left - name.length);
    if (left < 0) {
      return left;
    }
  }
  return left;
}
