import { AppError } from '../lib/errors.ts';

const NESTING_MAX = 32;

/**
 * Refuses JSON nested deeper than 32 levels (AppError invalid_json) and removes members named `__proto__`, which
 * JSON.parse makes own members and a later copy would turn into a prototype.
 */
export function guardJson(value: unknown, depth = 1): void {
  if (typeof value !== 'object' || value === null) {
    return;
  }
  if (depth > NESTING_MAX) {
    throw new AppError('invalid_json', `the body is nested deeper than ${NESTING_MAX} levels`);
  }
  if (Object.hasOwn(value, '__proto__')) {
    Reflect.deleteProperty(value, '__proto__');
  }
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const member of members) {
    guardJson(member, depth + 1);
  }
}
