import { ZodArray, ZodObject, type ZodType, z } from 'zod';
import { AppError } from '../lib/errors.ts';
import { invariant } from '../lib/invariant.ts';
import { FieldError } from './field-error.ts';

type Issue = z.core.$ZodIssue;

/**
 * Checks a value against a schema and returns what the schema lets through. Throws {@link FieldError} naming the first
 * wrong member, or AppError invalid_request when the value as a whole is of the wrong kind.
 */
export function validate<T>(schema: ZodType<T>, value: unknown, place: 'body' | 'query' | 'path'): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) {
    return result.data;
  }
  throw refusal(deepest(firstIssue(result.error), []), place);
}

/** Of a long list, so many items are checked in one go: a message of an agent has some ten values. */
const ITEMS_AT_ONCE = 64;

/**
 * Like {@link validate}, a few items at a time of the long lists that stand in the value itself. Nothing else is done in the first
 * step and the last one, so that what comes before and after has turns of its own.
 */
export function* validateInSteps<T>(
  schema: ZodType<T>,
  value: unknown,
  place: 'body',
): Generator<undefined, T> {
  yield undefined;
  const lists: Record<string, unknown> = {};
  for (const [name, { element, items }] of longLists(schema, value)) {
    lists[name] = yield* itemsInSteps(element, items, name, place);
  }
  const names = Object.keys(lists);
  const checked = validate(names.length === 0 ? schema : withAnyItems(schema, names), value, place);
  yield undefined;
  return names.length === 0 ? checked : { ...checked, ...lists };
}

interface LongList {
  readonly element: ZodType;
  readonly items: readonly unknown[];
}

function longLists(schema: ZodType, value: unknown): [string, LongList][] {
  if (!(schema instanceof ZodObject) || typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(schema.shape).flatMap(([name, member]): [string, LongList][] => {
    const items: unknown = Reflect.get(value, name);
    return member instanceof ZodArray && Array.isArray(items) && items.length > ITEMS_AT_ONCE
      ? [[name, { element: member.element as ZodType, items }]]
      : [];
  });
}

function* itemsInSteps(
  element: ZodType,
  items: readonly unknown[],
  name: string,
  place: 'body',
): Generator<undefined, unknown[]> {
  const some = z.array(element);
  const checked: unknown[] = [];
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    const result = some.safeParse(items.slice(from, from + ITEMS_AT_ONCE), { reportInput: true });
    if (!result.success) {
      const { issue, path } = deepest(firstIssue(result.error), []);
      const [index, ...inItem] = path;
      throw refusal({ issue, path: [name, from + Number(index), ...inItem] }, place);
    }
    for (const item of result.data) {
      checked.push(item);
    }
    yield undefined;
  }
  return checked;
}

/** The schema with lists of anything in place of some of its lists: of the right length. */
function withAnyItems<T>(schema: ZodType<T>, names: readonly string[]): ZodType<T> {
  const object = schema as unknown as ZodObject;
  const shape: Record<string, ZodType> = { ...(object.shape as Record<string, ZodType>) };
  for (const name of names) {
    const list = shape[name] as ZodArray;
    shape[name] = list.clone({ ...list.def, element: z.unknown() });
  }
  return object.clone({ ...object.def, shape }) as unknown as ZodType<T>;
}

/** A refusal without a reason would be a bug of the schema's. */
function firstIssue({ issues }: z.ZodError): Issue {
  const [issue] = issues;
  invariant(issue, 'a value was refused without an issue');
  return issue;
}

interface LocatedIssue {
  readonly issue: Issue;
  readonly path: readonly PropertyKey[];
}

/** Of a union's branches, the one that got furthest is what the caller most likely meant. */
function deepest(issue: Issue, parents: readonly PropertyKey[]): LocatedIssue {
  const path = [...parents, ...issue.path];
  if (issue.code !== 'invalid_union') {
    return { issue, path };
  }
  let best: LocatedIssue = { issue, path };
  for (const [first] of issue.errors) {
    const candidate = first && deepest(first, path);
    if (candidate && candidate.path.length > best.path.length) {
      best = candidate;
    }
  }
  return best;
}

function refusal({ issue, path }: LocatedIssue, place: string): AppError {
  if (issue.code === 'unrecognized_keys') {
    const name = String(issue.keys[0]).slice(0, 100);
    return new FieldError(
      pathText([...path, name]),
      `unknown ${place === 'query' ? 'query parameter' : 'member'}`,
    );
  }
  if (path.length === 0) {
    return new AppError('invalid_request', `${place}: ${wordsOf(issue)}`);
  }
  return new FieldError(pathText(path), wordsOf(issue));
}

/** The article of a type's name, and the names that readers of JSON know. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item', object: 'member' };

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be a time such as 2026-01-31T00:00:00Z',
  url: 'must be a URL',
  regex: 'has a wrong form',
};

/** What must be different, in words that a caller can act on. The library's own tell of its insides ("received undefined"). */
function wordsOf(issue: Issue): string {
  if (!/^(?:Invalid |Too )/.test(issue.message)) {
    // a schema's own words
    return issue.message;
  }
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${typeWords(issue.expected)}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : `must be ${either(issue.values.map(literalWords))}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : unionWords(issue.errors);
    case 'too_big':
      return sizeWords(issue.origin, 'at most', issue.maximum);
    case 'too_small':
      return sizeWords(issue.origin, 'at least', issue.minimum);
    case 'invalid_format':
      return FORMATS[issue.format] ?? `must be a valid ${issue.format}`;
    default:
      return issue.message;
  }
}

/** What a union takes, when no branch got further than the value itself. */
function unionWords(branches: readonly (readonly Issue[])[]): string {
  const wanted = branches.map(([first]) => (first ? wordsOf(first) : ''));
  const kinds = wanted.map((words) => words.replace(/^must be /, ''));
  return `must be ${either([...new Set(kinds)])}`;
}

function sizeWords(origin: string, bound: string, size: number | bigint): string {
  const unit = UNITS[origin];
  const counted = `${bound} ${size}`;
  return unit === undefined
    ? `must be ${counted}`
    : `must have ${counted} ${unit}${Number(size) === 1 ? '' : 's'}`;
}

function typeWords(expected: string): string {
  return TYPES[expected] ?? expected;
}

function literalWords(value: unknown): string {
  return typeof value === 'string' ? `"${value}"` : String(value);
}

function either(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    const next = typeof part === 'number' ? `[${part}]` : `.${String(part)}`;
    text += text === '' && typeof part !== 'number' ? String(part) : next;
  }
  return text;
}
