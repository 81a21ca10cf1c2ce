import { merged } from '../lib/merged.ts';
import { isObject, type JsonObject, textOf } from './json.ts';

/** Schema members that contain further schemas: by name, in a list, and one. */
export const NAMED_SCHEMAS = ['properties', '$defs', 'definitions', 'patternProperties'] as const;
export const LISTED_SCHEMAS = ['anyOf', 'allOf', 'oneOf', 'prefixItems'] as const;
export const SINGLE_SCHEMAS = ['items', 'additionalProperties', 'not', 'if', 'then', 'else'] as const;

/** Returns a schema with each schema directly inside it changed. Returns the same object if none is. */
export function withSchemasInside(schema: JsonObject, change: (schema: unknown) => unknown): JsonObject {
  const changes: [name: string, value: unknown][] = [];
  const add = (name: string, value: unknown) => {
    if (value !== schema[name]) {
      changes.push([name, value]);
    }
  };
  for (const name of SINGLE_SCHEMAS) {
    add(name, change(schema[name]));
  }
  for (const name of LISTED_SCHEMAS) {
    add(name, changedList(schema[name], change));
  }
  for (const name of NAMED_SCHEMAS) {
    add(name, changedMap(schema[name], change));
  }
  return changes.length === 0 ? schema : merged(schema, Object.fromEntries(changes));
}

function changedList(list: unknown, change: (schema: unknown) => unknown): unknown {
  if (!Array.isArray(list)) {
    return list;
  }
  const changed = list.map(change);
  return changed.every((one, index) => one === list[index]) ? list : changed;
}

function changedMap(map: unknown, change: (schema: unknown) => unknown): unknown {
  if (!isObject(map)) {
    return map;
  }
  const changed = Object.entries(map).map(([key, one]) => [key, change(one)] as const);
  return changed.every(([key, one]) => one === map[key]) ? map : Object.fromEntries(changed);
}

/** Returns a schema's description with limits that its keywords do not say, as Anthropic's SDKs write them. */
export function describedWith(description: unknown, limits: readonly string[]): string {
  const text = textOf(description);
  const said = `{${limits.join(', ')}}`;
  return text === '' ? said : `${text}\n\n${said}`;
}
