/** Why a sign-in failed: the provider does not answer, does not let the person in or was told to stop, or does not vouch for them. */
export class SignInFailure extends Error {
  readonly reason: 'provider_away' | 'denied' | 'refused';
  /** What the provider, or the network on the way to it, said. For the log. */
  readonly words: readonly string[];

  constructor(reason: SignInFailure['reason'], cause: unknown) {
    super(`the OpenID provider ${reason === 'provider_away' ? 'does not answer' : 'refused'}`, { cause });
    this.reason = reason;
    this.words = wordsOf(cause);
  }
}

const TEXT_MAX = 200;
const UNSEEN_RUN = /\p{C}+/gu;
/** How many errors behind each other are read for the log. */
const DEPTH_MAX = 6;

/** Codes of responses that do not count: late, cut off, or not from the provider. */
const AWAY = [
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
];

/** Errors by which a provider says that it cannot answer at the moment (RFC 6749, section 4.1.2.1). */
const AWAY_WORDS = ['server_error', 'temporarily_unavailable'];

/** Returns why a sign-in failed that ended with this error. */
export function failureOf(error: unknown): SignInFailure {
  if (error instanceof SignInFailure) {
    return error;
  }
  const { code, error: said } = error as { code?: unknown; error?: unknown };
  const isAway =
    (error instanceof TypeError && error.message === 'fetch failed') ||
    AWAY.includes(String(code)) ||
    AWAY_WORDS.includes(String(said));
  const isDenied = code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' && said === 'access_denied';
  return new SignInFailure(isAway ? 'provider_away' : isDenied ? 'denied' : 'refused', error);
}

/**
 * Returns what an error and the errors behind it say, outermost first: texts, codes, the status of a response, and an OpenID provider's
 * own `error` and `error_description`. Omits everything else that they carry, because that contains tokens and names people.
 */
function wordsOf(error: unknown): string[] {
  const words: string[] = [];
  let part = error;
  for (let depth = 0; depth < DEPTH_MAX && typeof part === 'object' && part !== null; depth += 1) {
    words.push(...ownWords(part).map((word) => word.replace(UNSEEN_RUN, ' ').slice(0, TEXT_MAX)));
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
