import * as oidc from 'openid-client';
import { Agent, fetch as undiciFetch } from 'undici';
import type { OidcSettings } from '../config/oidc-settings.ts';
import type { Clock } from '../lib/clock.ts';

/** The person who signed in, as the provider reports them. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** In lower case; empty when the provider reports none that is trusted. */
  readonly email: string;
  readonly name: string;
  /** When they proved to the provider who they are; null if it does not say. */
  readonly provenAt: Date | null;
  /** Whether the claim that makes operators has the configured value. */
  readonly isOperator: boolean;
}

/** Values that the response to a sign-in is checked against; kept, sealed, by the browser that asked. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Why a sign-in failed: the provider does not answer, or does not vouch for the person. */
export class SignInFailure extends Error {
  readonly reason: 'provider_away' | 'refused';
  /** What the provider, or the network on the way to it, said. For the log. */
  readonly words: readonly string[];

  constructor(reason: SignInFailure['reason'], cause: unknown) {
    super(`the OpenID provider ${reason === 'provider_away' ? 'does not answer' : 'refused'}`, { cause });
    this.reason = reason;
    this.words = wordsOf(cause);
  }
}

/** Maximum duration of one request to the provider in seconds, including its response. */
const REQUEST_SECONDS = 5;
const CONNECT_MS = 3_000;
/** Maximum size of a response in bytes: documents and keys take a few kilobytes. */
const ANSWER_BYTES_MAX = 1024 * 1024;
/** Seconds by which the provider's clock and ours may differ. */
const CLOCK_SECONDS = 30;
/** How long the provider's discovery document is used, in ms. */
const DISCOVERY_MS = 3_600_000;
const TEXT_MAX = 200;
const EMAIL_PATTERN = /^[^\s@\p{C}]{1,100}@[^\s@\p{C}]{1,100}$/u;
/** Characters that no page shows and the database does not store. */
const UNSEEN = /\p{C}/gu;
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

/**
 * Signs people in by authorization code with PKCE, state and nonce, and also checks the signature of what the provider returns. Requests
 * nothing from the provider before somebody signs in. Owns its connections.
 */
export class OpenIdProvider {
  readonly #settings: OidcSettings;
  readonly #redirectUri: string;
  readonly #clock: Clock;
  readonly #agent = new Agent({
    connect: { timeout: CONNECT_MS },
    maxResponseSize: ANSWER_BYTES_MAX,
    connections: 8,
  });
  #found: { readonly configuration: Promise<oidc.Configuration>; readonly untilMs: number } | undefined;

  constructor(settings: OidcSettings, redirectUri: string, clock: Clock) {
    this.#settings = settings;
    this.#redirectUri = redirectUri;
    this.#clock = clock;
  }

  /**
   * Returns the URL to send the browser to, and the values to check the response against. With `again`, the provider asks the person even
   * if they are signed in there. Throws SignInFailure.
   */
  async begin(again: boolean): Promise<{ readonly url: URL; readonly checks: SignInChecks }> {
    const configuration = await this.#configuration();
    const checks = {
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
    };
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: this.#settings.scopes,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
      ...(again && { prompt: 'login' }),
    });
    return { url, checks };
  }

  /**
   * Returns the person whom the provider reports. `query` is that of the URL to which the provider sent the browser back. Throws
   * SignInFailure.
   */
  async finish(query: string, checks: SignInChecks): Promise<Identity> {
    const configuration = await this.#configuration();
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, new URL(this.#redirectUri + query), {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (!claims) {
        throw new Error('the answer has no ID token');
      }
      const wanted = ['email', ...(this.#settings.operators ? [this.#settings.operators.claim] : [])];
      const isTold =
        wanted.every((claim) => claims[claim] !== undefined) ||
        configuration.serverMetadata().userinfo_endpoint === undefined;
      const more = isTold ? {} : await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return this.#identity({ ...more, ...claims });
    } catch (error) {
      throw failureOf(error);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #identity(claims: oidc.IDToken & oidc.UserInfoResponse): Identity {
    const told = typeof claims.email === 'string' ? claims.email.trim().toLowerCase() : '';
    const counts = (claims.email_verified === true || this.#settings.trustEmail) && EMAIL_PATTERN.test(told);
    const shown = typeof claims.name === 'string' ? claims.name.replace(UNSEEN, '').trim() : '';
    const name = [...shown].slice(0, TEXT_MAX).join('');
    return {
      ...{ issuer: claims.iss, subject: claims.sub, email: counts ? told : '', name },
      provenAt: this.#provenAt(claims.auth_time),
      isOperator: this.#isOperator(claims),
    };
  }

  /** A provider where the person is signed in vouches for them without asking: that alone must not count as a new proof. */
  #provenAt(seconds: unknown): Date | null {
    return typeof seconds === 'number' && seconds > 0
      ? new Date(Math.min(seconds * 1_000, this.#clock.now()))
      : null;
  }

  #isOperator(claims: oidc.IDToken & oidc.UserInfoResponse): boolean {
    const { operators } = this.#settings;
    const told = operators ? claims[operators.claim] : undefined;
    return (
      operators !== null && (Array.isArray(told) ? told.includes(operators.value) : told === operators.value)
    );
  }

  /** Returns the discovered configuration, which is used for an hour. A failure is not cached. */
  #configuration(): Promise<oidc.Configuration> {
    const now = this.#clock.now();
    if (!this.#found || this.#found.untilMs <= now) {
      const found = { configuration: this.#discover(), untilMs: now + DISCOVERY_MS };
      this.#found = found;
      found.configuration.catch(() => {
        if (this.#found === found) {
          this.#found = undefined;
        }
      });
    }
    return this.#found.configuration;
  }

  async #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const [byHeader, byBody] = [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)];
    const authenticate: oidc.ClientAuth = (server, ...rest) => {
      const known = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      return (known.includes('client_secret_basic') ? byHeader : byBody)(server, ...rest);
    };
    const execute = [
      oidc.enableNonRepudiationChecks,
      // only outside production: see oidc-settings.ts
      ...(issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : []),
    ];
    try {
      return await oidc.discovery(
        new URL(issuer),
        clientId,
        { client_secret: clientSecret, [oidc.clockTolerance]: CLOCK_SECONDS },
        authenticate,
        { [oidc.customFetch]: this.#fetch, timeout: REQUEST_SECONDS, execute },
      );
    } catch (error) {
      throw new SignInFailure('provider_away', error);
    }
  }

  /** Follows no redirect: only the addresses in the provider's document count. */
  readonly #fetch = (url: string, options: oidc.CustomFetchOptions): Promise<Response> =>
    undiciFetch(url, {
      ...(options as Parameters<typeof undiciFetch>[1]),
      redirect: 'manual',
      dispatcher: this.#agent,
    }) as unknown as Promise<Response>;
}

function failureOf(error: unknown): SignInFailure {
  if (error instanceof SignInFailure) {
    return error;
  }
  const { code, error: said } = error as { code?: unknown; error?: unknown };
  const isAway =
    (error instanceof TypeError && error.message === 'fetch failed') ||
    AWAY.includes(String(code)) ||
    AWAY_WORDS.includes(String(said));
  return new SignInFailure(isAway ? 'provider_away' : 'refused', error);
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
