/** A JSON schema, or a part of an OpenAPI document. */
export type JsonSchema = Record<string, unknown>;

/** Which side writes what the schema describes. */
export type Direction = 'input' | 'output';

/**
 * Marks, as metadata of a zod object, an answer to which nothing will ever be added: the interface closes it. All others are open, so
 * that a client generated today reads an answer of tomorrow.
 */
export const CLOSED = 'x-closed';

const PRIMITIVES = new Set(['string', 'number', 'integer', 'boolean']);

/**
 * A schema as generators of typed clients take it: answers open, their codes and states open lists, unions flat and told apart by
 * type, what may be sent in several plain types in the first of them, defaults in words, no limits that only say what a JSON number can
 * hold.
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

/** A member that may only be null has no type of its own in most languages; it is described as a member of any type. */
function withoutNullType(member: JsonSchema): JsonSchema {
  const { type, ...annotations } = member;
  return type === 'null' ? annotations : member;
}

/** `anyOf` in `anyOf` becomes one list; "this or null" a type with two names; what differs by type a `oneOf`. */
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

/** Of a choice of plain types, as an instant or its seconds, the first: generators write classes for "text or number" that do not compile. */
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

/** What tells a choice from others; a named schema is an object everywhere in this document. */
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

/** Generators take a member that has a default for one that must be sent, or send the default of the day they were run. */
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
