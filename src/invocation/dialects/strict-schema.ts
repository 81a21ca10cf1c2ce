import { isObject, type JsonObject, objectOf } from '../../providers/json.ts';

/** Where a schema holds further ones: by name, in a list, or alone. */
const NAMED = ['properties', '$defs', 'definitions'] as const;
const LISTED = ['anyOf', 'allOf', 'oneOf', 'prefixItems'] as const;

/**
 * Whether OpenAI takes a schema as strict: every object closed, every property required. Anthropic allows optional ones, so
 * a schema that is strict there may be refused here; unmarked it is followed as well as the model can.
 */
export function isStrictSchema(schema: unknown): boolean {
  if (!isObject(schema)) {
    return false;
  }
  if (schema.type === 'object' && !isClosed(schema)) {
    return false;
  }
  const named = NAMED.flatMap((name) => Object.values(objectOf(schema[name])));
  const listed = LISTED.flatMap((name): unknown[] => (Array.isArray(schema[name]) ? schema[name] : []));
  const items = schema.items === undefined ? [] : [schema.items];
  return [...named, ...listed, ...items].every(isStrictSchema);
}

function isClosed({ additionalProperties, properties, required }: JsonObject): boolean {
  const list = new Set<unknown>(Array.isArray(required) ? required : []);
  return additionalProperties === false && Object.keys(objectOf(properties)).every((name) => list.has(name));
}
