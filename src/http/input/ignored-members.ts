import { z } from 'zod';

/** The header that names ignored members, and its description. */
export const IGNORED_ANSWER_HEADER: Readonly<Record<string, string>> = {
  'X-Ignored-Parameters':
    'Comma-separated list of request members that had no effect: they are unknown, or were not sent to the provider',
};

/** Limits of the header that names ignored members: the number of names, and the characters per name. */
const IGNORED_MAX = 32;
const IGNORED_NAME_MAX = 64;

/** Paths of the ignored members, each once. Names come from callers and are made safe for a header. */
export class IgnoredMembers {
  readonly #paths = new Set<string>();

  add(path: string): void {
    if (this.#paths.size < IGNORED_MAX) {
      this.#paths.add(path.slice(0, IGNORED_NAME_MAX).replace(/[^\x21-\x2b\x2d-\x7e]/g, '?'));
    }
  }

  get paths(): readonly string[] {
    return [...this.#paths];
  }
}

/** Returns the header that names the members of a body that are not in `said`, except those that are null or undefined. */
export function ignoredHeader(body: object, said: readonly string[]): Record<string, string> {
  const ignored = new IgnoredMembers();
  for (const [name, value] of Object.entries(body)) {
    if (!said.includes(name) && value !== null && value !== undefined) {
      ignored.add(name);
    }
  }
  return ignored.paths.length === 0 ? {} : { 'X-Ignored-Parameters': ignored.paths.join(', ') };
}

/** Returns whether a body of this schema may have members that it does not know, which are dropped. */
export function dropsUnknownMembers(schema: z.ZodType): schema is z.ZodObject {
  return schema instanceof z.ZodObject && schema.def.catchall === undefined;
}
