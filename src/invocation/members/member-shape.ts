import type { IgnoredMembers } from '../../http/input/ignored-members.ts';
import { AppError } from '../../lib/errors.ts';
import { isStepOver, type Steps } from '../../lib/steps.ts';
import { isObject, type JsonObject } from '../../providers/json.ts';

/** The allowed value of a request member. `json` may contain anything: schemas, tool inputs, sampler settings. */
export type Shape =
  | { readonly of: 'text' | 'number' | 'boolean' | 'json' }
  | { readonly of: 'object'; readonly members: Members }
  | { readonly of: 'list'; readonly item: Shape }
  /** An object whose `type` determines its members. Other types are rejected. */
  | { readonly of: 'kinds'; readonly kinds: Readonly<Record<string, Members>> }
  /** Text, or a value of the other shape. */
  | { readonly of: 'text or'; readonly other: Shape }
  /** A member that stays when it is null, if the object that has it passes the test. */
  | { readonly of: 'nullable'; readonly shape: Shape; readonly isKept: (holder: JsonObject) => boolean };

export type Members = Readonly<Record<string, Shape>>;

export const TEXT: Shape = { of: 'text' };
export const NUMBER: Shape = { of: 'number' };
export const BOOLEAN: Shape = { of: 'boolean' };
export const JSON_VALUE: Shape = { of: 'json' };

export function object(members: Members): Shape {
  return { of: 'object', members };
}

export function list(item: Shape): Shape {
  return { of: 'list', item };
}

export function kinds(byType: Readonly<Record<string, Members>>): Shape {
  return { of: 'kinds', kinds: byType };
}

export function textOr(other: Shape): Shape {
  return { of: 'text or', other };
}

export function nullable(shape: Shape, isKept: (holder: JsonObject) => boolean): Shape {
  return { of: 'nullable', shape, isKept };
}

/** Longer lists are sifted on their own, after the object that contains them. */
const ITEMS_AT_ONCE = 64;

interface LongList {
  /** Items, sifted in place. */
  readonly items: unknown[];
  readonly shape: Shape;
  readonly path: string;
}

/** Members left out of one value, and its long lists that are still to be sifted. */
interface Sifting {
  readonly ignored: IgnoredMembers;
  readonly longLists: LongList[];
}

/**
 * Returns the object with its known members. Null members are left out without being reported, because they request nothing, except
 * where a shape keeps them. Throws
 * AppError invalid_parameter for a member of the wrong type, unsupported_input for an object with an unknown `type` where types are
 * listed.
 */
export function* siftInSteps(
  value: JsonObject,
  members: Members,
  ignored: IgnoredMembers,
): Steps<JsonObject> {
  const sifting: Sifting = { ignored, longLists: [] };
  const sifted = siftObject(value, members, '', sifting);
  for (const { items, shape, path } of sifting.longLists) {
    for (let index = 0; index < items.length; index += 1) {
      items[index] = siftValue(items[index], shape, path, sifting);
      if (isStepOver()) {
        yield undefined;
      }
    }
  }
  return sifted;
}

/** Returns the value itself when nothing is left out. */
function siftObject(value: JsonObject, members: Members, path: string, sifting: Sifting): JsonObject {
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    const member = value[name];
    const shape = Object.hasOwn(members, name) ? members[name] : undefined;
    const memberPath = path === '' ? name : `${path}.${name}`;
    if (member === null && shape?.of === 'nullable' && shape.isKept(value)) {
      continue;
    }
    if (shape === undefined || member === null || member === undefined) {
      copy ??= { ...value };
      delete copy[name];
      if (shape === undefined && member !== null && member !== undefined) {
        sifting.ignored.add(memberPath);
      }
      continue;
    }
    const sifted = siftValue(member, shape, memberPath, sifting);
    if (sifted !== member) {
      copy ??= { ...value };
      copy[name] = sifted;
    }
  }
  return copy ?? value;
}

function siftValue(value: unknown, shape: Shape, path: string, sifting: Sifting): unknown {
  switch (shape.of) {
    case 'json':
      return value;
    case 'text or':
      return typeof value === 'string' ? value : siftValue(value, shape.other, path, sifting);
    case 'nullable':
      return siftValue(value, shape.shape, path, sifting);
    case 'list':
      return siftList(value, shape.item, path, sifting);
    case 'object':
      return siftObject(requireObject(value, path), shape.members, path, sifting);
    case 'kinds':
      return siftKind(requireObject(value, path), shape.kinds, path, sifting);
    default:
      return requireScalar(value, shape.of, path);
  }
}

function siftList(value: unknown, item: Shape, path: string, sifting: Sifting): unknown {
  if (!Array.isArray(value)) {
    throw wrongType(path, 'a list');
  }
  // One path for all items: thousands of indexes in a header would not help anybody.
  const itemPath = `${path}[]`;
  if (value.length > ITEMS_AT_ONCE) {
    const items: unknown[] = [...value];
    sifting.longLists.push({ items, shape: item, path: itemPath });
    return items;
  }
  let copy: unknown[] | undefined;
  for (let index = 0; index < value.length; index += 1) {
    const sifted = siftValue(value[index], item, itemPath, sifting);
    if (sifted !== value[index]) {
      copy ??= [...value];
      copy[index] = sifted;
    }
  }
  return copy ?? value;
}

function siftKind(
  value: JsonObject,
  byType: Readonly<Record<string, Members>>,
  path: string,
  sifting: Sifting,
): JsonObject {
  const { type } = value;
  const members = typeof type === 'string' && Object.hasOwn(byType, type) ? byType[type] : undefined;
  if (!members) {
    const named = typeof type === 'string' ? JSON.stringify(type.slice(0, 40)) : 'no type';
    throw new AppError('unsupported_input', `${path}: content of type ${named} is not supported`);
  }
  return siftObject(value, members, path, sifting);
}

function requireObject(value: unknown, path: string): JsonObject {
  if (!isObject(value)) {
    throw wrongType(path, 'an object');
  }
  return value;
}

function requireScalar(value: unknown, kind: 'text' | 'number' | 'boolean', path: string): unknown {
  if (typeof value !== (kind === 'text' ? 'string' : kind)) {
    throw wrongType(path, kind === 'text' ? 'a string' : `a ${kind}`);
  }
  return value;
}

function wrongType(path: string, wanted: string): AppError {
  return new AppError('invalid_parameter', `${path}: must be ${wanted}`);
}
