/** A JSON schema, or a part of an OpenAPI document. */
export type JsonSchema = Record<string, unknown>;

/** The side that writes what the schema describes: the client (input) or Tollgate (output). */
export type Direction = 'input' | 'output';

/**
 * Metadata of a zod object that marks an answer as closed: the API promises never to add to it. All other answers are open, so that a
 * client generated today can read tomorrow's answers.
 */
export const CLOSED = 'x-closed';

const PRIMITIVES = new Set(['string', 'number', 'integer', 'boolean']);

/**
 * Converts a schema to a form that generators of typed clients handle well: answers are open, their codes and states are open lists,
 * unions are flat and distinguished by type, input that may have several plain types has the first of them, defaults are given in words,
 * and limits that only state what a JSON number can hold are left out.
 */
export function portable(schema: JsonSchema, direction: Direction): JsonSchema {
  const inner = mapSchemas(schema, (member) => portable(member, direction));
  const flat = simplerUnion(inner, direction);
  const bounded = withoutNoise(flat);
  return direction === 'output' ? opened(bounded) : withDefaultInWords(withoutMark(bounded));
}

/** Applies `change` to every schema directly inside one. */
function mapSchemas(schema: JsonSchema, change: (member: JsonSchema) => JsonSchema): JsonSchema {
  const changed: JsonSchema = { ...schema };
  for (const name of ['properties', 'patternProperties', '$defs']) {
    const members = schema[name];
    if (isSchema(members)) {
      changed[name] = Object.fromEntries(
        Object.entries(members).map(([key, member]) => [
          key,
          isSchema(member) ? change(withoutNullType(member)) : member,
        ]),
      );
    }
  }
  for (const name of ['items', 'additionalProperties', 'propertyNames', 'contains', 'not']) {
    const member = schema[name];
    if (isSchema(member)) {
      changed[name] = change(member);
    }
  }
  for (const name of ['anyOf', 'oneOf', 'allOf', 'prefixItems']) {
    const members = schema[name];
    if (Array.isArray(members)) {
      changed[name] = members.map((member: unknown) => (isSchema(member) ? change(member) : member));
    }
  }
  return changed;
}

/** Removes the type of a member that may only be null. Most languages have no such type, so it is described as a member of any type. */
function withoutNullType(member: JsonSchema): JsonSchema {
  const { type, ...annotations } = member;
  return type === 'null' ? annotations : member;
}

/** Flattens `anyOf` in `anyOf`, turns "this or null" into a type with two names, and makes unions that differ by type a `oneOf`. */
function simplerUnion(schema: JsonSchema, direction: Direction): JsonSchema {
  const { anyOf, ...annotations } = schema;
  if (!Array.isArray(anyOf)) {
    return schema;
  }
  const all = (anyOf as JsonSchema[]).flatMap(choicesOf);
  const choices = direction === 'input' ? inOneType(all) : all;
  const others = choices.filter((choice) => choice.type !== 'null');
  const [only] = others;
  if (only && choices.length === 1) {
    return { ...only, ...annotations };
  }
  if (others.length === 1 && only && choices.length === 2 && typeof only.type === 'string') {
    return {
      ...only,
      ...annotations,
      type: [only.type, 'null'],
      ...(Array.isArray(only.enum) && { enum: [...only.enum, null] }),
    };
  }
  const types = choices.map(typeOf);
  const differ = new Set(types).size === types.length && !types.includes(undefined);
  return { ...annotations, [differ ? 'oneOf' : 'anyOf']: choices };
}

/**
 * Reduces a choice of plain types, such as an instant or its seconds, to the first: generators write classes for "text or number" that do
 * not compile.
 */
function inOneType(choices: readonly JsonSchema[]): JsonSchema[] {
  const others = choices.filter(({ type }) => type !== 'null');
  const isPlain = others.every(({ type }) => typeof type === 'string' && PRIMITIVES.has(type));
  return choices.filter((choice) => !isPlain || choice === others[0] || choice.type === 'null');
}

function choicesOf(choice: JsonSchema): JsonSchema[] {
  const { description: _, ...bare } = choice;
  const names = Object.keys(bare);
  const [name = ''] = names;
  const inner = bare[name];
  if (names.length === 1 && /^(anyOf|oneOf)$/.test(name) && Array.isArray(inner)) {
    return inner as JsonSchema[];
  }
  const { type } = choice;
  if (Array.isArray(type) && type.length === 2 && type[1] === 'null') {
    return [{ ...choice, type: type[0] }, { type: 'null' }];
  }
  return [choice];
}

/** Returns the type that distinguishes a choice from others. A named schema is always an object in this document. */
function typeOf(choice: JsonSchema): unknown {
  if (typeof choice.$ref === 'string') {
    return 'object';
  }
  return typeof choice.type === 'string' ? choice.type : undefined;
}

function withoutNoise(schema: JsonSchema): JsonSchema {
  const changed: JsonSchema = { ...schema };
  const types = [schema.type].flat();
  if (types.includes('integer')) {
    delete changed.pattern;
    if (schema.minimum === Number.MIN_SAFE_INTEGER) {
      delete changed.minimum;
    }
    if (schema.maximum === Number.MAX_SAFE_INTEGER) {
      delete changed.maximum;
    }
    const isSmall = typeof changed.maximum === 'number' && changed.maximum < 2 ** 31;
    changed.format ??= isSmall ? 'int32' : 'int64';
  }
  if (schema.format !== undefined && types.includes('string')) {
    delete changed.pattern;
  }
  if (isSchema(changed.additionalProperties) && Object.keys(changed.additionalProperties).length === 0) {
    // the same in the form that all readers know; Scalar reports the empty schema as an error
    changed.additionalProperties = true;
  }
  if (typeof schema.const === 'boolean') {
    delete changed.const;
    changed.type = 'boolean';
    changed.examples ??= [schema.const];
  }
  return changed;
}

function opened(schema: JsonSchema): JsonSchema {
  const { [CLOSED]: isClosed, ...changed } = schema;
  if (changed.additionalProperties === false && isClosed !== true) {
    delete changed.additionalProperties;
  }
  const type = [changed.type].flat()[0];
  if (Array.isArray(changed.enum) && typeof type === 'string' && PRIMITIVES.has(type) && isClosed !== true) {
    const known = changed.enum.filter((value) => value !== null);
    delete changed.enum;
    return { ...changed, examples: known, 'x-extensible-enum': known };
  }
  return changed;
}

/**
 * Moves a default into the description: generators treat a member with a default as required, or send the default of the day they were
 * run.
 */
function withDefaultInWords(schema: JsonSchema): JsonSchema {
  const { default: value, description, ...changed } = schema;
  if (value === undefined) {
    return schema;
  }
  const words = `by default \`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
  return { ...changed, description: description === undefined ? words : `${String(description)}; ${words}` };
}

function withoutMark(schema: JsonSchema): JsonSchema {
  const { [CLOSED]: _, ...changed } = schema;
  return changed;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
