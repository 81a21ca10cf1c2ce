import type { JsonSchema } from './openapi-portable.ts';

/** Examples of whole values. Values composed of them need no example of their own. */
export interface ApiExamples {
  /** By the name of a schema. */
  readonly schemas: Readonly<Record<string, unknown>>;
  /** By the name of an object's member, when its schema has no example. */
  readonly members: Readonly<Record<string, unknown>>;
  /** By the name of a parameter, or of an operation and its parameter: `getTask.id`. */
  readonly parameters: Readonly<Record<string, string | number>>;
  /** Request bodies by operation, when their schema has no name. */
  readonly bodies: Readonly<Record<string, unknown>>;
  /** Answers by operation and media type, when they cannot be composed of their members' examples. */
  readonly answers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Finds a named schema. */
export type SchemaLookup = (name: string) => JsonSchema | undefined;

/**
 * Returns an example of a schema: the one written for it, otherwise one composed of its members' examples. Returns undefined when a
 * required member has none.
 */
export function exampleOf(schema: JsonSchema, examples: ApiExamples, lookup: SchemaLookup): unknown {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return examples.schemas[name] ?? exampleOf(lookup(name) ?? {}, examples, lookup);
  }
  const [written] = Array.isArray(schema.examples) ? schema.examples : [];
  if (written !== undefined) {
    return written;
  }
  if (schema.const !== undefined) {
    return schema.const;
  }
  if (schema.type === 'array') {
    const item = exampleOf((schema.items ?? {}) as JsonSchema, examples, lookup);
    return item === undefined ? undefined : [item];
  }
  return schema.type === 'object' ? objectExample(schema, examples, lookup) : undefined;
}

function objectExample(schema: JsonSchema, examples: ApiExamples, lookup: SchemaLookup): object | undefined {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const made: Record<string, unknown> = {};
  for (const [name, member] of Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)) {
    const value = exampleOf(member, examples, lookup) ?? examples.members[name];
    if (value !== undefined) {
      made[name] = value;
    } else if (required.has(name)) {
      return undefined;
    }
  }
  return made;
}
