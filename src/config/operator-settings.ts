import { z } from 'zod';

/** Somebody who may operate the service. */
export interface Operator {
  /** What the audit log calls them. */
  readonly name: string;
  readonly token: string;
}

/** Who the bearer of ADMIN_TOKEN is. */
export const DEFAULT_OPERATOR = 'operator';

const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export const adminToken = z
  .string()
  .min(24, 'must have at least 24 characters; make one with: openssl rand -hex 24');

/** Reads `alice:token,bob:token`. What is wrong is told to zod's context, and nobody is let in. */
export function namedOperators(text: string, context: z.RefinementCtx): Operator[] {
  const operators = text.split(',').map((entry) => {
    const [name = '', ...rest] = entry.trim().split(':');
    return { name, token: rest.join(':') };
  });
  const problem = problemOf(operators);
  if (problem !== undefined) {
    context.addIssue({ code: 'custom', message: problem });
    return z.NEVER;
  }
  return operators;
}

function problemOf(operators: readonly Operator[]): string | undefined {
  const names = new Set([DEFAULT_OPERATOR, ...operators.map(({ name }) => name)]);
  const tokens = new Set(operators.map(({ token }) => token));
  if (!operators.every(({ name }) => NAME_PATTERN.test(name))) {
    return 'must be name:token pairs separated by commas; a name has letters, digits, - and _';
  }
  if (names.size <= operators.length || tokens.size < operators.length) {
    return `must not name anybody twice, nor ${DEFAULT_OPERATOR}, nor give two the same token`;
  }
  return operators.every(({ token }) => adminToken.safeParse(token).success)
    ? undefined
    : 'has a token of less than 24 characters; make one with: openssl rand -hex 24';
}
