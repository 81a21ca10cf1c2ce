/** A parsed JSON object whose members have not been validated. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns true for `{…}`, false for arrays, null and scalars. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns the value if it is a string, otherwise the empty string. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the objects in a list, skipping anything else; an empty list if the value is not a list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the length of a text in code points, the unit of OpenAI's indexes. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) {
    length += 1;
  }
  return length;
}

/** Parses JSON text. Returns undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What Python's servers write for numbers that JSON does not have, outside of a string. */
const NO_NUMBER = /-?\b(?:NaN|Infinity)\b/g;
const MAY_HAVE_NO_NUMBER = /NaN|Infinity/;

/**
 * Parses JSON text from a provider. Reads `NaN` and `Infinity`, which Python's servers write e.g. as log probabilities, as null. Returns
 * undefined if it is not JSON.
 */
export function parseProviderJson(text: string): unknown {
  const parsed = parseJson(text);
  return parsed === undefined && MAY_HAVE_NO_NUMBER.test(text) ? parseJson(withNulls(text)) : parsed;
}

/** Replaces {@link NO_NUMBER} by null outside of strings, in linear time: strings may be megabytes long. */
function withNulls(text: string): string {
  let result = '';
  let start = 0;
  while (start < text.length) {
    const quote = text.indexOf('"', start);
    const outside = quote < 0 ? text.slice(start) : text.slice(start, quote);
    const end = quote < 0 ? text.length : endOfString(text, quote);
    result += outside.replace(NO_NUMBER, 'null') + (quote < 0 ? '' : text.slice(quote, end));
    start = end;
  }
  return result;
}

/** Returns the place after the string that begins at `quote`; the end of the text if it does not end. */
function endOfString(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') {
      escapes += 1;
    }
    if (escapes % 2 === 0) {
      return end + 1;
    }
  }
  return text.length;
}

/** Returns a copy without the named members. */
export function without(object: JsonObject, ...names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = { ...object };
  for (const name of names) {
    if (name in copy) {
      delete copy[name];
    }
  }
  return copy;
}

/** Returns a copy without undefined members, so that a literal can simply list optional members. */
export function compact(object: JsonObject): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(object)) {
    // assigning `__proto__` would set the copy's prototype
    if (object[name] !== undefined && name !== '__proto__') {
      copy[name] = object[name];
    }
  }
  return copy;
}
