import type { ZodType, z } from 'zod';
import { AppError } from '../lib/errors.ts';
import { FieldError } from './field-error.ts';

type Issue = z.core.$ZodIssue;

/**
 * Checks a value against a schema and returns what the schema lets through. Throws {@link FieldError} naming the first
 * wrong member, or AppError invalid_request when the value as a whole is of the wrong kind.
 */
export function validate<T>(schema: ZodType<T>, value: unknown, place: 'body' | 'query' | 'path'): T {
  const result = schema.safeParse(value);
  if (result.success) {
    return result.data;
  }
  const [issue] = result.error.issues;
  if (!issue) {
    throw new AppError('invalid_request', `the ${place} is invalid`);
  }
  throw refusal(deepest(issue, []), place);
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
    return new AppError('invalid_request', `${place}: ${issue.message}`);
  }
  return new FieldError(pathText(path), issue.message);
}

function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    const next = typeof part === 'number' ? `[${part}]` : `.${String(part)}`;
    text += text === '' && typeof part !== 'number' ? String(part) : next;
  }
  return text;
}
