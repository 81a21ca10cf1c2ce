import { merged } from '../lib/merged.ts';
import { type JsonObject, objectOf, textOf } from './json.ts';
import type { ProviderDialect } from './provider.types.ts';

/** Efforts of all makers, from the lowest. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Where a request says the effort: its member, or an object and the member of it. */
const PLACES: Readonly<Record<ProviderDialect, readonly (readonly [string, string?])[]>> = {
  chat: [['reasoning_effort'], ['reasoning', 'effort']],
  messages: [['output_config', 'effort']],
  responses: [['reasoning', 'effort']],
};

/**
 * The words before the values that a model takes: "Supported values are: 'low', 'medium', and 'high'." (OpenAI, Azure), "must be one of" (xAI,
 * Groq), "expected one of" (serde), "Input should be" (pydantic).
 */
const SUPPORTED =
  /(?:supported values are|must be one of|expected one of|input should be|allowed values(?: are)?)([^.]*)/;

/**
 * Returns a request with an effort that the words of its rejection list: the next lower one than it has, or the lowest. Undefined if they
 * list no efforts, or the one that it has.
 */
export function withSupportedEffort(
  dialect: ProviderDialect,
  body: JsonObject,
  words: string,
): { readonly body: JsonObject; readonly paths: readonly string[] } | undefined {
  const listed = SUPPORTED.exec(words)?.[1] ?? '';
  const supported = EFFORTS.filter((effort) => new RegExp(`['"\`]${effort}['"\`]`).test(listed));
  // other settings have values of these names, too, but hardly two of them
  if (supported.length < 2) {
    return undefined;
  }
  for (const [name, inner] of PLACES[dialect]) {
    const asked = textOf(inner === undefined ? body[name] : objectOf(body[name])[inner]);
    const place = (EFFORTS as readonly string[]).indexOf(asked);
    const effort = EFFORTS.slice(0, place + 1).findLast((one) => supported.includes(one)) ?? supported[0];
    if (place >= 0 && effort !== asked) {
      const value = inner === undefined ? effort : merged(objectOf(body[name]), { [inner]: effort });
      return {
        body: merged(body, { [name]: value }),
        paths: [inner === undefined ? name : `${name}.${inner}`],
      };
    }
  }
  return undefined;
}
