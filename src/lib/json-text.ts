/** Written in one go, in UTF-16 units of text: less than 1 ms of work. */
const PART_LENGTH = 65_536;
/** What a value weighs besides its text. */
const VALUE_LENGTH = 16;
/** A value that weighs no more is written whole. */
const SHORT_LENGTH = 4 * PART_LENGTH;

/** Whether a value is written as JSON in no time worth speaking of. */
export function isShortJson(value: unknown): boolean {
  return lengthWithin(value, SHORT_LENGTH) >= 0;
}

/** The value as JSON in UTF-8, as JSON.stringify writes it, in steps of less than a ms. */
export function* jsonInSteps(value: unknown): Generator<undefined, Buffer> {
  const writer = new Writer();
  yield* write(value, writer);
  return writer.end();
}

function* write(value: unknown, writer: Writer): Generator<undefined, void> {
  if (lengthWithin(value, PART_LENGTH) >= 0) {
    writer.add(JSON.stringify(value));
    if (writer.isFull) {
      writer.encode();
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

function* writeList(items: readonly unknown[], writer: Writer): Generator<undefined, void> {
  for (const [index, item] of items.entries()) {
    writer.add(index === 0 ? '[' : ',');
    yield* write(item ?? null, writer);
  }
  writer.add(']');
}

function* writeObject(object: Record<string, unknown>, writer: Writer): Generator<undefined, void> {
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

function* writeText(text: string, writer: Writer): Generator<undefined, void> {
  writer.add('"');
  for (let start = 0; start < text.length; ) {
    const end = characterEnd(text, start + PART_LENGTH);
    writer.add(JSON.stringify(text.slice(start, end)).slice(1, -1));
    start = end;
    writer.encode();
    yield undefined;
  }
  writer.add('"');
}

/** `at`, or one less where a character of two units would be cut in two: each half would be written as an escape. */
function characterEnd(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  return at < text.length && unit >= 0xd800 && unit <= 0xdbff ? at - 1 : at;
}

/** Collects text, and turns it into bytes a part at a time. */
class Writer {
  readonly #encoded: Buffer[] = [];
  #text = '';

  get isFull(): boolean {
    return this.#text.length >= PART_LENGTH;
  }

  add(text: string): void {
    this.#text += text;
  }

  encode(): void {
    this.#encoded.push(Buffer.from(this.#text));
    this.#text = '';
  }

  end(): Buffer {
    this.encode();
    return Buffer.concat(this.#encoded);
  }
}

/** What is left of `most` once the value's length is taken off; below 0 as soon as the value is longer. */
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
