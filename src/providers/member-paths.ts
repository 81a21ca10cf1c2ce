import { merged } from '../lib/merged.ts';
import { isStepOver, type Steps } from '../lib/steps.ts';
import { isObject, type JsonObject, objectsOf, without } from './json.ts';

/** Paths of members of a request, such as `tools[].function.strict`: `[]` stands for every item of a list. */

/** Returns the paths that have a value. */
export function* heldPaths(value: unknown, paths: readonly string[]): Steps<string[]> {
  const held: string[] = [];
  for (const path of paths) {
    if (yield* holds(value, path)) {
      held.push(path);
    }
  }
  return held;
}

function* holds(value: unknown, path: string): Steps<boolean> {
  let found: unknown[] = [value];
  for (const step of path.split('.')) {
    const members: unknown[] = [];
    for (const object of found) {
      addMembers(object, step, members);
      if (isStepOver()) {
        yield undefined;
      }
    }
    found = members;
  }
  return found.length > 0;
}

/** Adds the values of an object at one step of a path. */
function addMembers(object: unknown, step: string, to: unknown[]): void {
  if (!isObject(object)) {
    return;
  }
  if (step.endsWith('[]')) {
    for (const item of objectsOf(object[listOf(step)])) {
      to.push(item);
    }
  } else if (object[step] !== undefined && object[step] !== null) {
    to.push(object[step]);
  }
}

function listOf(step: string): string {
  return step.slice(0, -'[]'.length);
}

/** Returns a copy without the members at the paths, and without objects that held nothing else. Shares what has none of them. */
export function withoutPaths(object: JsonObject, paths: readonly string[]): JsonObject {
  return paths.reduce<JsonObject>((kept, path) => withoutPath(kept, path.split('.')), object);
}

function withoutPath(object: JsonObject, [step = '', ...rest]: readonly string[]): JsonObject {
  const name = step.endsWith('[]') ? listOf(step) : step;
  const value = object[name];
  if (rest.length === 0) {
    return value === undefined ? object : without(object, name);
  }
  if (step !== name) {
    return Array.isArray(value)
      ? merged(object, { [name]: value.map((item) => (isObject(item) ? withoutPath(item, rest) : item)) })
      : object;
  }
  if (!isObject(value)) {
    return object;
  }
  const kept = withoutPath(value, rest);
  if (kept === value) {
    return object;
  }
  return Object.keys(kept).length === 0 ? without(object, name) : merged(object, { [name]: kept });
}
