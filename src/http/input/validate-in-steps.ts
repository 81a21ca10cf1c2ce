import { ZodArray, ZodNullable, ZodObject, ZodOptional, type ZodType, ZodUnion, z } from 'zod';
import { isStepOver, type Steps } from '../../lib/steps.ts';
import { validateAt } from './validate.ts';

/** Longer lists are checked on their own, a few items at a time. */
const ITEMS_AT_ONCE = 64;
/**
 * Maximum number of values checked in one go, counting items and the items of their lists: less than 1 ms of work once the schema is
 * warm.
 */
const VALUES_AT_ONCE = 256;

type Path = readonly PropertyKey[];

/**
 * Like `validate` for a body, but checks its long lists, and those inside their items, a few items at a time. The first and the last step
 * do no work, so that the work before and after gets its own turns.
 */
export function* validateInSteps<T>(schema: ZodType<T>, body: unknown): Steps<T> {
  yield undefined;
  const checked = yield* valueInSteps(schema, body, []);
  yield undefined;
  return checked as T;
}

function* valueInSteps(schema: ZodType, value: unknown, at: Path): Steps<unknown> {
  const lists = longLists(schema, value);
  const checkedLists: Record<string, unknown> = {};
  for (const { name, list, items } of lists) {
    checkedLists[name] = yield* itemsInSteps(list.element as ZodType, items, [...at, name]);
  }
  const lenient = lists.length === 0 ? schema : withAnyItems(schema, lists);
  const checked = validateAt(lenient, value, 'body', (path) => [...at, ...path]);
  return lists.length === 0 ? checked : { ...(checked as object), ...checkedLists };
}

function* itemsInSteps(element: ZodType, items: readonly unknown[], at: Path): Steps<unknown[]> {
  const some = z.array(element);
  const checked: unknown[] = [];
  for (let from = 0; from < items.length; ) {
    const to = batchEnd(element, items, from);
    if (to === from) {
      checked.push(yield* valueInSteps(element, items[from], [...at, from]));
      from += 1;
    } else {
      const first = from;
      const inWhole = ([index, ...path]: Path): Path => [...at, first + Number(index), ...path];
      checked.push(...validateAt(some, items.slice(from, to), 'body', inWhole));
      from = to;
    }
    if (isStepOver()) {
      yield undefined;
    }
  }
  return checked;
}

/**
 * Returns where the batch ends that can be checked together from `from` on. It ends before an item with a long list, so it may be empty.
 */
function batchEnd(element: ZodType, items: readonly unknown[], from: number): number {
  let values = 0;
  let to = from;
  while (to < items.length && to - from < ITEMS_AT_ONCE && values < VALUES_AT_ONCE) {
    const item = items[to];
    if (longLists(element, item).length > 0) {
      return to;
    }
    const lists = listMembers(element).map(({ name }) => memberOf(item, name));
    values += lists.reduce((sum: number, list) => sum + (Array.isArray(list) ? list.length : 0), 1);
    to += 1;
  }
  return to;
}

interface LongList {
  readonly name: string;
  readonly list: ZodArray;
  readonly items: readonly unknown[];
}

/** Returns the lists of a value that are long or have an item with a long list. */
function longLists(schema: ZodType, value: unknown): LongList[] {
  const found: LongList[] = [];
  for (const { name, lists } of listMembers(schema)) {
    const items = memberOf(value, name);
    const list = Array.isArray(items) ? listFor(lists, items) : undefined;
    if (list && isLong(list.element as ZodType, items as readonly unknown[])) {
      found.push({ name, list, items: items as readonly unknown[] });
    }
  }
  return found;
}

function isLong(element: ZodType, items: readonly unknown[]): boolean {
  return items.length > ITEMS_AT_ONCE || items.some((item) => longLists(element, item).length > 0);
}

/** Of the list types that a member may have, returns the one that its first item matches. */
function listFor(lists: readonly ZodArray[], items: readonly unknown[]): ZodArray | undefined {
  return lists.length === 1
    ? lists[0]
    : lists.find(({ element }) => (element as ZodType).safeParse(items[0]).success);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

interface ListMember {
  readonly name: string;
  readonly lists: readonly ZodArray[];
}

const listMembersOf = new WeakMap<ZodType, readonly ListMember[]>();

/** Returns the members of an object that may be lists. */
function listMembers(schema: ZodType): readonly ListMember[] {
  let members = listMembersOf.get(schema);
  if (!members) {
    const shape = schema instanceof ZodObject ? Object.entries(schema.shape) : [];
    members = shape
      .map(([name, member]) => ({ name, lists: listsWithin(member) }))
      .filter(({ lists }) => lists.length > 0);
    listMembersOf.set(schema, members);
  }
  return members;
}

function listsWithin(schema: unknown): ZodArray[] {
  if (schema instanceof ZodArray) {
    return [schema];
  }
  if (schema instanceof ZodOptional || schema instanceof ZodNullable) {
    return listsWithin(schema.unwrap());
  }
  return schema instanceof ZodUnion ? schema.options.flatMap(listsWithin) : [];
}

const lenientSchemas = new WeakMap<ZodType, Map<string, ZodType>>();

/** Returns the schema with some of its lists replaced by any value of the right length. Cached: a new schema is slow at first. */
function withAnyItems(schema: ZodType, lists: readonly LongList[]): ZodType {
  const known = lenientSchemas.get(schema) ?? new Map<string, ZodType>();
  lenientSchemas.set(schema, known);
  const names = lists.map(({ name }) => name).join();
  let lenient = known.get(names);
  if (!lenient) {
    const object = schema as unknown as ZodObject;
    const shape: Record<string, ZodType> = { ...(object.shape as Record<string, ZodType>) };
    for (const { name, list } of lists) {
      shape[name] = z.unknown().check(...((list.def.checks ?? []) as z.core.$ZodCheck<unknown>[]));
    }
    lenient = object.clone({ ...object.def, shape }) as unknown as ZodType;
    known.set(names, lenient);
  }
  return lenient;
}
