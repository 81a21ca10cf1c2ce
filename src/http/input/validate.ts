import type { ZodType, z } from 'zod';
import { AppError, invariant } from '../../lib/errors.ts';

/** Rejects one member of a request. The envelope is fixed, so the message includes the member's path. */
export class FieldError extends AppError {
  /** Path of the member, e.g. `messages[0].content`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super('invalid_parameter', `${field}: ${message}`);
    this.field = field;
  }
}

/** zod adds `async: false` to a copy of this. With the member already there, all copies have the same shape (docs/architecture/invocation.md). */
const CHECKING = { reportInput: true, async: false } as const;

type Issue = z.core.$ZodIssue;
type UnionIssue = Extract<Issue, { readonly code: 'invalid_union' }>;
type Place = 'body' | 'query' | 'path';

/**
 * Checks a value against a schema and returns the schema's output. Throws {@link FieldError} naming the first wrong member, or AppError
 * invalid_request when the value as a whole has the wrong type.
 */
export function validate<T>(schema: ZodType<T>, value: unknown, place: Place): T {
  return validateAt(schema, value, place, (path) => path);
}

/** Like {@link validate}, for a part of what was sent. `wholePath` converts a path within the part to the path within the whole. */
export function validateAt<T>(
  schema: ZodType<T>,
  part: unknown,
  place: Place,
  wholePath: (path: readonly PropertyKey[]) => readonly PropertyKey[],
): T {
  const result = schema.safeParse(part, CHECKING);
  if (result.success) {
    return result.data;
  }
  const { issue, path } = deepest(firstIssue(result.error), []);
  throw refusal({ issue, path: wholePath(path) }, place);
}

/** Returns the first issue. A rejection without an issue would be a bug in the schema. */
function firstIssue({ issues }: z.ZodError): Issue {
  const [issue] = issues;
  invariant(issue, 'a value was refused without an issue');
  return issue;
}

interface LocatedIssue {
  readonly issue: Issue;
  readonly path: readonly PropertyKey[];
}

/**
 * Returns the issue of the union branch that the caller most likely meant: one that fits apart from its size, or else the one that got
 * furthest; of several, the one of which the value has most.
 */
function deepest(issue: Issue, parents: readonly PropertyKey[]): LocatedIssue {
  const path = [...parents, ...issue.path];
  if (issue.code !== 'invalid_union') {
    return { issue, path };
  }
  const tooBig = oversized(issue.errors);
  if (tooBig) {
    return deepest(tooBig, path);
  }
  let best: LocatedIssue = { issue, path };
  let nearest = 0;
  for (const issues of issue.errors) {
    const candidate = issues[0] && deepest(issues[0], path);
    const further = candidate ? candidate.path.length - best.path.length : -1;
    if (candidate && (further > 0 || (further === 0 && distance(issues) < nearest))) {
      best = candidate;
      nearest = distance(issues);
    }
  }
  return best;
}

/** Counts what a value would have to change to fit. A missing member counts twice: what is there shows what was meant. */
function distance(issues: readonly Issue[]): number {
  return issues.reduce((sum, { input }) => sum + (input === undefined ? 2 : 1), 0);
}

/**
 * Returns the issue of the branch for which the value is only too large. Sizes are checked before items, so of several such branches the
 * one with the largest limit is named: it is wrong whatever the items are.
 */
function oversized(branches: readonly (readonly Issue[])[]): Issue | undefined {
  let largest: z.core.$ZodIssueTooBig | undefined;
  for (const [first, ...others] of branches) {
    const isOnly = first?.code === 'too_big' && others.length === 0;
    if (isOnly && (!largest || first.maximum > largest.maximum)) {
      largest = first;
    }
  }
  return largest;
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
  if (place === 'query' && Array.isArray(issue.input)) {
    return new FieldError(pathText(path), 'is given more than once');
  }
  return new FieldError(pathText(path), wordsOf(issue));
}

/** Names of types with their articles, as readers of JSON know them. */
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
  regex: 'has an invalid format',
};

/** Says what must change, in words that a caller can act on. The library's own messages expose its internals ("received undefined"). */
function wordsOf(issue: Issue): string {
  if (!/^(?:Invalid |Too )/.test(issue.message)) {
    // a message that the schema itself defines
    return issue.message;
  }
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${typeWords(issue.expected)}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : `must be ${either(issue.values.map(literalWords))}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : unionWords(issue);
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

/** Says what a union accepts when no branch got further than the value itself. */
function unionWords(issue: UnionIssue): string {
  if (issue.discriminator !== undefined && 'options' in issue) {
    // no branch was tried, because the member that names the branch names none
    const named = (issue.input as Readonly<Record<string, unknown>>)[issue.discriminator];
    return named === undefined ? 'is required' : `must be ${either((issue.options ?? []).map(literalWords))}`;
  }
  const wanted = issue.errors.map(([first]) => (first ? wordsOf(first) : ''));
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
