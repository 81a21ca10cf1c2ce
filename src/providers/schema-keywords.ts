import { merged } from '../lib/merged.ts';
import { mapInSteps, type Steps } from '../lib/steps.ts';
import { isObject, type JsonObject, objectsOf, without } from './json.ts';
import { describedWith, withSchemasInside } from './json-schema.ts';

/** Keywords of a JSON schema that say nothing about a value, or nothing that a model needs to read. */
const SILENT: readonly string[] = [
  '$schema',
  '$id',
  '$comment',
  'title',
  'examples',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
];

/** Keywords that narrow a value, which a description can say as well. */
const LIMITS: readonly string[] = [
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'dependentRequired',
];

/** Keywords that are words of other sentences, too. */
const IS_PLAIN_WORD = /^[a-z]+$/;

/** Deeper schemas are left as they are. The depth of the request itself is limited earlier. */
const DEPTH_MAX = 100;

/** Where tools have their schemas, in all protocols. */
const SCHEMA_MEMBERS = ['parameters', 'input_schema'] as const;

/** Returns the keywords that words in lower case name: plain words only where they are quoted. */
export function keywordsNamed(words: string): readonly string[] {
  return [...SILENT, ...LIMITS].filter((keyword) => {
    const name = keyword.toLowerCase().replace('$', '\\$');
    const mention = IS_PLAIN_WORD.test(keyword) ? `["'\`]${name}["'\`]` : `(?<![\\w$])${name}(?!\\w)`;
    return new RegExp(mention).test(words);
  });
}

/** Returns the tools with schemas that lack the keywords. Undefined if none has any of them. */
export function* toolsWithoutKeywords(
  tools: unknown,
  keywords: readonly string[],
): Steps<readonly JsonObject[] | undefined> {
  const given = objectsOf(tools);
  const changed = yield* mapInSteps(given, (tool) => toolWithout(tool, keywords));
  return changed.some((tool, index) => tool !== given[index]) ? changed : undefined;
}

function toolWithout(tool: JsonObject, keywords: readonly string[]): JsonObject {
  if (isObject(tool.function)) {
    const called = toolWithout(tool.function, keywords);
    return called === tool.function ? tool : merged(tool, { function: called });
  }
  const name = SCHEMA_MEMBERS.find((member) => isObject(tool[member]));
  if (name === undefined) {
    return tool;
  }
  const schema = schemaWithout(tool[name], keywords, 0);
  return schema === tool[name] ? tool : merged(tool, { [name]: schema });
}

/** Keywords that narrow a value move to the description, where the model reads them. */
function schemaWithout(schema: unknown, keywords: readonly string[], depth: number): unknown {
  if (!isObject(schema) || depth === DEPTH_MAX) {
    return schema;
  }
  const inside = withSchemasInside(schema, (one) => schemaWithout(one, keywords, depth + 1));
  const named = keywords.filter((keyword) => inside[keyword] !== undefined);
  if (named.length === 0) {
    return inside;
  }
  const kept = without(inside, ...named);
  const told = named.filter((keyword) => LIMITS.includes(keyword));
  const limits = told.map((keyword) => `${keyword}: ${JSON.stringify(schema[keyword])}`);
  return told.length === 0 ? kept : merged(kept, { description: describedWith(schema.description, limits) });
}
