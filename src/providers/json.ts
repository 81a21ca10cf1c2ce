/** A parsed JSON object whose members nobody has vouched for yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for `{…}`, false for arrays, null and scalars. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The value if it is text, else the empty string. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The objects of a list; anything else in it, or anything but a list, is left out. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Parses JSON text; undefined when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A copy without the named members. */
export function without(object: JsonObject, ...names: readonly string[]): Record<string, unknown> {
  const copy: Record<string, unknown> = { ...object };
  for (const name of names) {
    delete copy[name];
  }
  return copy;
}

/** A copy without the members that are undefined, so that a literal can list optional members plainly. */
export function compact(object: JsonObject): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(object)) {
    // assigned, it would become the copy's prototype
    if (object[name] !== undefined && name !== '__proto__') {
      copy[name] = object[name];
    }
  }
  return copy;
}
