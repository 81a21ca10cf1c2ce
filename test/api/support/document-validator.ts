import { z } from 'zod';
import type { Schema } from './schema-arbitrary.ts';

/** Returns what is wrong with a value, or an empty list when it matches a schema of the document. */
export type Validator = (schema: Schema, value: unknown) => readonly string[];

/** Creates a validator from the schemas of an OpenAPI document alone. */
export function documentValidator(components: Readonly<Record<string, Schema>>): Validator {
  const definitions = localised(components) as Record<string, Schema>;
  const known = new Map<Schema, z.ZodType>();
  const knownByText = new Map<string, z.ZodType>();
  const typeOf = (schema: Schema): z.ZodType => {
    const own = localised(schema) as Schema;
    const text = JSON.stringify(own);
    const type = knownByText.get(text) ?? z.fromJSONSchema({ ...own, $defs: reachable(own, definitions) });
    knownByText.set(text, type);
    return type;
  };
  return (schema, value) => {
    const type = known.get(schema) ?? typeOf(schema);
    known.set(schema, type);
    const { error } = type.safeParse(value);
    return error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
  };
}

/** Returns the definitions that a schema refers to, directly or by others: Zod copies all that it is given, for each schema. */
function reachable(
  schema: Schema,
  definitions: Readonly<Record<string, Schema>>,
): Readonly<Record<string, Schema>> {
  const found: Record<string, Schema> = {};
  const texts = [JSON.stringify(schema)];
  for (const text of texts) {
    for (const [, name = ''] of text.matchAll(/"#\/\$defs\/([^"]+)"/g)) {
      const definition = definitions[name];
      if (definition && !(name in found)) {
        found[name] = definition;
        texts.push(JSON.stringify(definition));
      }
    }
  }
  return found;
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
