import type { ZodType } from 'zod';
import { z } from 'zod';
import { type Direction, type JsonSchema, portable } from './openapi-portable.ts';

/** Collects named schemas, so that each is defined once in the document and referenced everywhere else. */
export class SchemaRegistry {
  readonly #named = new Map<string, JsonSchema>();

  /** Converts a zod schema to a JSON schema, as it is sent or as it is answered. Parts with an `id` become references. */
  convert(schema: ZodType, io: Direction): JsonSchema {
    const whole = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' });
    const converted = portable({ ...whole }, io);
    const definitions = (converted.$defs ?? {}) as Record<string, JsonSchema>;
    for (const [name, definition] of Object.entries(definitions)) {
      this.#add(name, definition);
    }
    delete converted.$defs;
    delete converted.$schema;
    const { id } = converted;
    if (typeof id === 'string') {
      this.#add(id, converted);
      return { $ref: `#/components/schemas/${id}` };
    }
    return relocate(converted) as JsonSchema;
  }

  /** Names an inline object, so that generated clients have a name for it. References and other types are returned as they are. */
  name(name: string, schema: JsonSchema): JsonSchema {
    if (schema.type !== 'object' || schema.properties === undefined) {
      return schema;
    }
    this.#add(name, schema);
    return { $ref: `#/components/schemas/${name}` };
  }

  addAll(schemas: Readonly<Record<string, JsonSchema>>): void {
    for (const [name, schema] of Object.entries(schemas)) {
      this.#add(name, schema);
    }
  }

  /** Returns a named schema that was added before. */
  named(name: string): JsonSchema | undefined {
    return this.#named.get(name);
  }

  /** Returns the schemas by name, in alphabetical order: the document must not depend on the order of the routes. */
  all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#named].sort(([first], [second]) => (first < second ? -1 : 1)));
  }

  #add(name: string, schema: JsonSchema): void {
    const { id: _, ...rest } = schema;
    const relocated = relocate(rest) as JsonSchema;
    const known = this.#named.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(relocated)) {
      throw new Error(`two different schemas are named ${name}`);
    }
    this.#named.set(name, relocated);
  }
}

/** Points references to `$defs` to the components of the document instead. */
function relocate(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(relocate);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string'
        ? member.replace('#/$defs/', '#/components/schemas/')
        : relocate(member),
    ]),
  );
}
