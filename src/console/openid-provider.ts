import * as oidc from 'openid-client';
import { Agent, fetch as undiciFetch } from 'undici';
import type { OidcSettings } from '../config/oidc-settings.ts';
import type { Clock } from '../lib/clock.ts';
import { failureOf, SignInFailure } from './sign-in-failure.ts';

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
  /** The values of that claim, for the log; undefined when the provider does not send it. */
  readonly operatorValues: readonly string[] | undefined;
  /** Why its userinfo endpoint did not say more; undefined when it did or was not asked. */
  readonly untold: SignInFailure | undefined;
}

/** Values that the response to a sign-in is checked against; kept, sealed, by the browser that asked. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
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
/** Values of the operator claim that are kept for the log: some providers list hundreds of groups. */
const VALUES_SHOWN_MAX = 20;
const EMAIL_PATTERN = /^[^\s@\p{C}]{1,100}@[^\s@\p{C}]{1,100}$/u;
/** Characters that no page shows and the database does not store. */
const UNSEEN = /\p{C}/gu;
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
    // its keys are kept with its document, and it may have new ones: a code works once, so there is no second try with those
    const configuration = await this.#configuration(true);
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
      const isTold =
        this.#wanted().every((claim) => claims[claim] !== undefined) ||
        configuration.serverMetadata().userinfo_endpoint === undefined;
      const more = isTold
        ? {}
        : await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub).catch(failureOf);
      return more instanceof SignInFailure
        ? this.#identity(claims, {}, more)
        : this.#identity(claims, more, undefined);
    } catch (error) {
      throw failureOf(error);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Returns the claims that the provider is asked for at its userinfo endpoint if the ID token lacks one. */
  #wanted(): readonly string[] {
    const { operators, trustEmail } = this.#settings;
    return ['email', ...(trustEmail ? [] : ['email_verified']), ...(operators ? [operators.claim] : [])];
  }

  /** `more` are the claims from the userinfo endpoint; those of the ID token win. `untold`: why there are none. */
  #identity(
    told: oidc.IDToken,
    more: Partial<oidc.UserInfoResponse>,
    untold: SignInFailure | undefined,
  ): Identity {
    const claims = { ...more, ...told };
    const email = addressOf(claims.email);
    // what the endpoint says of another address than the token's does not count
    const isSame = told.email === undefined || more.email === undefined || addressOf(more.email) === email;
    const vouched = isVerified(told.email_verified ?? (isSame ? more.email_verified : undefined));
    const counts = (vouched || this.#settings.trustEmail) && EMAIL_PATTERN.test(email);
    const shown = typeof claims.name === 'string' ? claims.name.replace(UNSEEN, '').trim() : '';
    const name = [...shown].slice(0, TEXT_MAX).join('');
    return {
      ...{ issuer: claims.iss, subject: claims.sub, email: counts ? email : '', name },
      provenAt: this.#provenAt(claims.auth_time),
      ...this.#operatorOf(claims),
      untold,
    };
  }

  /** A provider where the person is signed in vouches for them without asking: that alone must not count as a new proof. */
  #provenAt(seconds: unknown): Date | null {
    return typeof seconds === 'number' && seconds > 0
      ? new Date(Math.min(seconds * 1_000, this.#clock.now()))
      : null;
  }

  #operatorOf(claims: Readonly<Record<string, unknown>>): Pick<Identity, 'isOperator' | 'operatorValues'> {
    const { operators } = this.#settings;
    const told = operators ? claims[operators.claim] : undefined;
    if (operators === null || told === undefined) {
      return { isOperator: false, operatorValues: undefined };
    }
    const values: readonly unknown[] = Array.isArray(told) ? told : [told];
    const shown = values.slice(0, VALUES_SHOWN_MAX).map((value) => {
      const text = typeof value === 'string' ? value : `(${typeof value})`;
      return text.replace(UNSEEN, '').slice(0, TEXT_MAX);
    });
    return { isOperator: values.includes(operators.value), operatorValues: shown };
  }

  /** Returns the discovered configuration, which is used for an hour unless it is wanted `anew`. A failure is not cached. */
  #configuration(anew = false): Promise<oidc.Configuration> {
    const now = this.#clock.now();
    if (anew || !this.#found || this.#found.untilMs <= now) {
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
    const { issuer } = this.#settings;
    try {
      return await this.#discoverAt(issuer).catch((error: unknown) =>
        this.#discoverAt(asProviderWrites(issuer, error)),
      );
    } catch (error) {
      throw new SignInFailure('provider_away', error);
    }
  }

  #discoverAt(issuer: string): Promise<oidc.Configuration> {
    const { clientId, clientSecret } = this.#settings;
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
    return oidc.discovery(
      new URL(issuer),
      clientId,
      { client_secret: clientSecret, [oidc.clockTolerance]: CLOCK_SECONDS },
      authenticate,
      { [oidc.customFetch]: this.#fetch, timeout: REQUEST_SECONDS, execute },
    );
  }

  /** Follows no redirect: only the addresses in the provider's document count. */
  readonly #fetch = (url: string, options: oidc.CustomFetchOptions): Promise<Response> =>
    undiciFetch(url, {
      ...(options as Parameters<typeof undiciFetch>[1]),
      redirect: 'manual',
      dispatcher: this.#agent,
    }) as unknown as Promise<Response>;
}

/** Returns an address as accounts keep it; empty if there is none. */
function addressOf(claim: unknown): string {
  return typeof claim === 'string' ? claim.trim().toLowerCase() : '';
}

/** Some providers, such as Amazon Cognito and Apple, say it in a text. */
function isVerified(claim: unknown): boolean {
  return claim === true || claim === 'true';
}

/**
 * Returns the issuer as the document that was rejected for it has it, if only the slash at the end differs: both have the document at the
 * same address. Throws why it was rejected otherwise.
 */
function asProviderWrites(issuer: string, rejection: unknown): string {
  const named = issuerNamedBy(rejection);
  if (named === undefined) {
    throw rejection;
  }
  if (withoutSlash(named) !== withoutSlash(issuer)) {
    const advice = `OIDC_ISSUER is not the issuer of the document there, which is ${named}`;
    throw new Error(advice, { cause: rejection });
  }
  return named;
}

/** Returns the issuer of a discovery document that was rejected because it is not the configured one. */
function issuerNamedBy(error: unknown): string | undefined {
  const { code, cause } = error as { code?: unknown; cause?: { body?: { issuer?: unknown } } };
  const named = code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' ? cause?.body?.issuer : undefined;
  return typeof named === 'string' ? named : undefined;
}

function withoutSlash(issuer: string): string {
  return issuer.replace(/\/$/, '');
}
