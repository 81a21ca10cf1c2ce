import fc from 'fast-check';

export type Schema = Record<string, unknown>;

const WORDS = fc.constantFrom(
  'a',
  'acme/small',
  'USD',
  '12.50',
  '2026-11-01T00:00:00Z',
  '1',
  'day',
  'gen-x',
  'über',
  '日本',
);

/** Generates values that a JSON schema of our document allows, approximately: rules beyond the schema may still reject them. */
export function valuesOf(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
  depth = 0,
): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') {
    const target = components[schema.$ref.split('/').at(-1) ?? ''] ?? {};
    return valuesOf(target, components, depth + 1);
  }
  if (depth > 5) {
    return fc.constant(null);
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) {
    return fc.oneof(...choices.map((choice) => valuesOf(choice, components, depth + 1)));
  }
  if (Array.isArray(schema.enum)) {
    return fc.constantFrom(...schema.enum);
  }
  if (schema.const !== undefined) {
    return fc.constant(schema.const);
  }
  if (Array.isArray(schema.examples) && schema.type !== 'object') {
    return fc.oneof(fc.constantFrom(...schema.examples), plain(schema, components, depth));
  }
  return plain(schema, components, depth);
}

function plain(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
  depth: number,
): fc.Arbitrary<unknown> {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case 'object':
      return object(schema, components, depth);
    case 'array':
      return fc.array(valuesOf((schema.items ?? {}) as Schema, components, depth + 1), { maxLength: 3 });
    case 'integer':
      return fc.integer({ min: bound(schema.minimum, -1000), max: bound(schema.maximum, 100_000) });
    case 'number':
      return fc.double({ min: bound(schema.minimum, 0), max: bound(schema.maximum, 1e6), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return text(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function object(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
  depth: number,
): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  const members = Object.fromEntries(
    properties.map(([name, member]) => [name, valuesOf(member, components, depth + 1)]),
  );
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => name in members) : [];
  return fc.record(members, { requiredKeys: required, noNullPrototype: true });
}

function text(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'date-time') {
    const years = { min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true };
    return fc.date(years).map((date) => date.toISOString());
  }
  const minLength = bound(schema.minLength, 0);
  return fc.oneof(WORDS, fc.string({ minLength, maxLength: Math.min(bound(schema.maxLength, 40), 60) }));
}

function bound(value: unknown, fallback: number): number {
  return typeof value === 'number' && Math.abs(value) < 1e15 ? value : fallback;
}
