import { z } from 'zod';
import { ConfigError } from './config-error.ts';

/** A person or program that may operate the service. */
export interface Operator {
  /** Name in the audit log. */
  readonly name: string;
  readonly token: string;
}

/** Name of the operator who uses ADMIN_TOKEN. */
export const DEFAULT_OPERATOR = 'operator';

const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export const adminToken = z
  .string()
  .min(24, 'must have at least 24 characters; make one with: openssl rand -hex 24')
  // what a Bearer header may carry: no request could present another token
  .regex(/^[\x21-\x7e]{1,512}$/, 'must be at most 512 plain characters without spaces');

/** Parses `alice:token,bob:token`. Reports a mistake to zod's context and then accepts no operator at all. */
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

/** Returns all operators, the one who uses ADMIN_TOKEN first. Throws ConfigError if that token is also somebody else's. */
export function operatorsOf(token: string, named: readonly Operator[]): Operator[] {
  const same = named.find((operator) => operator.token === token);
  if (same !== undefined) {
    throw new ConfigError(
      `ADMIN_TOKENS gives ${same.name} the token of ADMIN_TOKEN: the audit log could not tell them apart; make another one with: openssl rand -hex 24`,
    );
  }
  return [{ name: DEFAULT_OPERATOR, token }, ...named];
}

function problemOf(operators: readonly Operator[]): string | undefined {
  const names = new Set([DEFAULT_OPERATOR, ...operators.map(({ name }) => name)]);
  const tokens = new Set(operators.map(({ token }) => token));
  if (!operators.every(({ name, token }) => NAME_PATTERN.test(name) && token !== '')) {
    return 'must be name:token pairs separated by commas; a name has letters, digits, - and _';
  }
  if (names.size <= operators.length || tokens.size < operators.length) {
    return `must not contain a name or a token twice, nor the reserved name ${DEFAULT_OPERATOR}`;
  }
  const [refused] = operators.flatMap(({ token }) => adminToken.safeParse(token).error?.issues ?? []);
  return refused && `has a token that ${refused.message}`;
}
