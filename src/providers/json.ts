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

/** Parses JSON text. Returns undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
