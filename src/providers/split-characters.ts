import { isObject } from './json.ts';

/** The escape of half a character: only escapes can bring one, since a decoder replaces what is not UTF-8. */
const HALF_ESCAPE = /\\u[dD][89a-fA-F]/;
const FIRST_HALF_AT_END = /[\ud800-\udbff]$/;
const SECOND_HALF_AT_START = /^[\udc00-\udfff]/;

/**
 * Joins characters that a provider split over two events: servers that count in UTF-16 units cut an emoji in two, and a program in Python
 * can neither print nor store half of one. One instance per answer.
 */
export class SplitCharacters {
  /** First halves that wait for the second, by the path of their text within the event. */
  readonly #halves = new Map<string, string>();

  /** Returns the parsed value of `json` with whole characters only: a first half moves to the event that continues the same text. */
  joined(json: string, value: unknown): unknown {
    return HALF_ESCAPE.test(json) ? this.#joinedAt('', value) : value;
  }

  #joinedAt(path: string, value: unknown): unknown {
    if (typeof value === 'string') {
      return this.#joinedText(path, value);
    }
    if (Array.isArray(value)) {
      return value.map((item, index) => this.#joinedAt(`${path}/${index}`, item));
    }
    if (!isObject(value)) {
      return value;
    }
    const members = Object.entries(value).map(([name, member]) => [
      name,
      this.#joinedAt(`${path}/${name}`, member),
    ]);
    return Object.fromEntries(members);
  }

  #joinedText(path: string, text: string): string {
    const before = this.#halves.get(path);
    this.#halves.delete(path);
    const continued = before !== undefined && SECOND_HALF_AT_START.test(text) ? before + text : text;
    const half = FIRST_HALF_AT_END.exec(continued)?.[0];
    if (half !== undefined) {
      this.#halves.set(path, half);
    }
    const rest = half === undefined ? continued : continued.slice(0, -1);
    // UTF-8 has no halves: any other becomes U+FFFD
    return Buffer.from(rest).toString();
  }
}
