const DEPTH_MAX = 6;
const TEXT_MAX = 200;
/** Characters that have no place in a line of the log. */
const UNSEEN = /\p{C}+/gu;

/**
 * Returns what an error and the errors behind it say, outermost first: texts, codes, the status of a response, and an OpenID provider's
 * own `error` and `error_description`. Omits everything else that they carry, because that contains tokens and names people.
 */
export function wordsOf(error: unknown): string[] {
  const words: string[] = [];
  let part = error;
  for (let depth = 0; depth < DEPTH_MAX && typeof part === 'object' && part !== null; depth += 1) {
    words.push(...ownWords(part).map((word) => word.replace(UNSEEN, ' ').slice(0, TEXT_MAX)));
    part = (part as { readonly cause?: unknown }).cause;
  }
  return [...new Set(words)];
}

function ownWords(part: object): string[] {
  const { message, code, status, error, error_description } = part as Record<string, unknown>;
  const said = [error, error_description];
  if (Array.isArray(part)) {
    // the challenges of a 401
    return part.flatMap((challenge: { parameters?: object } | null) => ownWords(challenge?.parameters ?? {}));
  }
  const told = part instanceof Error ? [message, code, ...said] : said;
  return [...told, typeof status === 'number' && `status ${status}`].filter(
    (word): word is string => typeof word === 'string' && word !== '',
  );
}
