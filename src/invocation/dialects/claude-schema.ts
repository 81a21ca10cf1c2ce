import { isObject, type JsonObject } from '../../providers/json.ts';

/** Keywords that Anthropic's structured outputs and strict tools take. platform.claude.com/docs, "JSON Schema limitations". */
const TAKEN = new Set([
  '$ref',
  '$defs',
  'definitions',
  'type',
  'title',
  'description',
  'enum',
  'const',
  'default',
  'properties',
  'required',
  'items',
  'anyOf',
  'allOf',
]);
const FORMATS = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);
/** Members whose members are schemas, and members that are lists of schemas. */
const MAPS = new Set(['properties', '$defs', 'definitions']);
const LISTS = new Set(['anyOf', 'allOf']);
/** Deeper schemas are handed on as they are; the request's own depth is bounded before. */
const DEPTH_MAX = 100;

/**
 * A JSON schema that Anthropic takes: keywords that it refuses are told to the model in the description instead, as its
 * own SDKs do, and objects are closed.
 */
export function claudeSchema(schema: unknown, depth = 0): unknown {
  if (!isObject(schema) || depth > DEPTH_MAX) {
    return schema;
  }
  const kept: Record<string, unknown> = {};
  const told: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (name === 'oneOf' && !('anyOf' in schema)) {
      kept.anyOf = schemas(value, depth);
    } else if (MAPS.has(name)) {
      kept[name] = mapOf(value, depth);
    } else if (LISTS.has(name)) {
      kept[name] = schemas(value, depth);
    } else if (name === 'items') {
      kept.items = claudeSchema(value, depth + 1);
    } else if (isTaken(name, value)) {
      kept[name] = value;
    } else if (name !== 'additionalProperties' && name !== '$schema') {
      told.push(`${name}: ${JSON.stringify(value)}`);
    }
  }
  if (schema.type === 'object' || 'properties' in schema) {
    kept.additionalProperties = false;
  }
  return told.length === 0 ? kept : { ...kept, description: describe(schema.description, told) };
}

function isTaken(name: string, value: unknown): boolean {
  if (name === 'format') {
    return FORMATS.has(String(value));
  }
  return TAKEN.has(name) || (name === 'minItems' && (value === 0 || value === 1));
}

function describe(description: unknown, told: readonly string[]): string {
  const limits = `{${told.join(', ')}}`;
  return typeof description === 'string' && description !== '' ? `${description}\n\n${limits}` : limits;
}

function schemas(value: unknown, depth: number): unknown {
  return Array.isArray(value) ? value.map((one) => claudeSchema(one, depth + 1)) : value;
}

function mapOf(value: unknown, depth: number): JsonObject | unknown {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, claudeSchema(one, depth + 1)]))
    : value;
}
