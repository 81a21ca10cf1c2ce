import { isObject, type JsonObject, objectOf } from '../../providers/json.ts';
import { LISTED_SCHEMAS, NAMED_SCHEMAS } from '../../providers/json-schema.ts';

/**
 * Returns whether OpenAI accepts a schema as strict: every object closed, every property required. Anthropic allows optional properties,
 * so OpenAI may reject a schema that is strict there. Without the strict flag, the model follows it as well as it can.
 */
export function isStrictSchema(schema: unknown): boolean {
  if (!isObject(schema)) {
    return false;
  }
  if (schema.type === 'object' && !isClosed(schema)) {
    return false;
  }
  const named = NAMED_SCHEMAS.flatMap((name) => Object.values(objectOf(schema[name])));
  const listed = LISTED_SCHEMAS.flatMap((name): unknown[] =>
    Array.isArray(schema[name]) ? schema[name] : [],
  );
  const items = schema.items === undefined ? [] : [schema.items];
  return [...named, ...listed, ...items].every(isStrictSchema);
}

function isClosed({ additionalProperties, properties, required }: JsonObject): boolean {
  const list = new Set<unknown>(Array.isArray(required) ? required : []);
  return additionalProperties === false && Object.keys(objectOf(properties)).every((name) => list.has(name));
}
