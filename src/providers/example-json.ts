import { isObject, type JsonObject, objectOf, textOf } from './json.ts';

/** Deeper schemas end in null: a schema may refer to itself. */
const DEPTH_MAX = 8;

/**
 * A small value that fits a JSON schema, the same one every time: defaults, examples and first enum members where
 * they are given, plain values elsewhere. Only required members are filled in.
 */
export function jsonExampleOf(schema: unknown, depth = 0): unknown {
  const object = objectOf(schema);
  const given = firstGiven(object);
  if (given !== undefined) {
    return given;
  }
  if (depth >= DEPTH_MAX) {
    return null;
  }
  const [alternative] = [object.anyOf, object.oneOf, object.allOf].flatMap((list) =>
    Array.isArray(list) ? list.slice(0, 1) : [],
  );
  return alternative === undefined ? exampleOfType(object, depth) : jsonExampleOf(alternative, depth + 1);
}

function firstGiven(schema: JsonObject): unknown {
  if ('const' in schema) {
    return schema.const;
  }
  for (const list of [schema.enum, schema.examples]) {
    if (Array.isArray(list) && list.length > 0) {
      return list[0];
    }
  }
  return schema.default;
}

function exampleOfType(schema: JsonObject, depth: number): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type ?? (isObject(schema.properties) ? 'object' : 'string')) {
    case 'object':
      return exampleOfObject(schema, depth);
    case 'array':
      return [jsonExampleOf(schema.items, depth + 1)];
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return textOf(schema.title) || 'example';
  }
}

function exampleOfObject(schema: JsonObject, depth: number): JsonObject {
  const properties = objectOf(schema.properties);
  const required = Array.isArray(schema.required) ? schema.required : Object.keys(properties);
  const names = required.filter((name) => typeof name === 'string');
  return Object.fromEntries(names.map((name) => [name, jsonExampleOf(properties[name], depth + 1)]));
}
