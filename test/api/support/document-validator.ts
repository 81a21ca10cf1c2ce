import { z } from 'zod';
import type { Schema } from './schema-arbitrary.ts';

/** Returns what is wrong with a value, or an empty list when it matches a schema of the document. */
export type Validator = (schema: Schema, value: unknown) => readonly string[];

/** Creates a validator from the schemas of an OpenAPI document alone. */
export function documentValidator(components: Readonly<Record<string, Schema>>): Validator {
  const definitions = localised(components) as Record<string, Schema>;
  const known = new Map<Schema, z.ZodType>();
  return (schema, value) => {
    let type = known.get(schema);
    if (!type) {
      type = z.fromJSONSchema({ ...(localised(schema) as Schema), $defs: definitions });
      known.set(schema, type);
    }
    const { error } = type.safeParse(value);
    return error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  };
}

/** Points references to the document's components at definitions next to the schema instead. */
function localised(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(localised);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === '$ref' && typeof member === 'string'
        ? member.replace('#/components/schemas/', '#/$defs/')
        : localised(member),
    ]),
  );
}
