import { z } from 'zod';
import type { Schema } from './schema-arbitrary.ts';

/** Tells what is wrong with a value; an empty list when it is as a schema of the document says. */
export type Validator = (schema: Schema, value: unknown) => readonly string[];

/** Validates by the schemas of an OpenAPI document, read from the document alone. */
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

/** References to the document's components point to definitions beside the schema instead. */
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
