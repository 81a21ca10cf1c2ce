import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { pause } from '../../lib/pause.ts';
import type { CallSigner } from '../call-signer.ts';
import { EngineError, type EngineFailure } from '../engine.types.ts';
import { failureOf, MISCONFIGURED, UNREACHABLE, withUpstreamMessage } from '../engine-failures.ts';
import type { UpstreamAnswer } from '../upstream-answer.ts';
import type { UpstreamHttp } from '../upstream-http.ts';
import type { OAuthSettings } from './signature-settings.ts';

const granted = z.looseObject({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .optional(),
  expires_in: z.coerce.number().positive().nullish(),
});
const refused = z.looseObject({ error: z.string(), error_description: z.string().optional() });

/** Lifetime in seconds of a token whose server states none. */
const EXPIRES_DEFAULT = 300;
/** A token is replaced this many seconds before it expires, or a fifth of its lifetime before, if that is less. */
const MARGIN = 60;
const MARGIN_SHARE = 0.2;
/** Age in ms. A token younger than this is not rejected for its age, so a new one would be rejected as well. */
const YOUNG_MS = 10_000;
/** Maximum time a call waits for a token, in ms. The token request has timeouts of its own. */
const WAIT_MS = 600_000;
const TOO_MANY_REQUESTS = 429;

interface Token {
  readonly text: string;
  readonly givenAt: number;
  readonly freshUntil: number;
}

/**
 * Obtains tokens from an OAuth 2 server (RFC 6749, client credentials). A token is kept until shortly before it expires. At most one token
 * request is in flight, however many calls wait for it. The secret is sent only to the token server and never appears in a failure. Owns
 * `http`.
 */
export class OAuthTokens implements CallSigner {
  readonly #settings: OAuthSettings;
  readonly #http: UpstreamHttp;
  readonly #clock: Clock;
  #token: Token | undefined;
  #asking: Promise<Token> | undefined;

  constructor(settings: OAuthSettings, http: UpstreamHttp, clock: Clock) {
    this.#settings = settings;
    this.#http = http;
    this.#clock = clock;
  }

  /** Throws EngineError: unreachable when the token server is away, misconfigured when it rejects the client. */
  async sign(_call: unknown, signal?: AbortSignal): Promise<{ authorization: string }> {
    signal?.throwIfAborted();
    const kept = this.#token;
    const token = kept && this.#clock.now() < kept.freshUntil ? kept : await this.#next(signal);
    return { authorization: headerOf(token) };
  }

  renews({ authorization }: Readonly<Record<string, string>>): boolean {
    const token = this.#token;
    if (!token || authorization !== headerOf(token)) {
      return true;
    }
    if (this.#clock.now() - token.givenAt < YOUNG_MS) {
      return false;
    }
    this.#token = undefined;
    return true;
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #next(signal: AbortSignal | undefined): Promise<Token> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    const asking = this.#asking;
    if (signal) {
      const ended = asking.then(
        () => undefined,
        () => undefined,
      );
      await pause(WAIT_MS, signal, ended);
      signal.throwIfAborted();
    }
    return await asking;
  }

  async #ask(): Promise<Token> {
    const now = this.#clock.now();
    const answer = await this.#request();
    if (answer.failure) {
      throw new EngineError(this.#refusalOf(answer));
    }
    const { data } = granted.safeParse(answer.json);
    if (!data) {
      throw new EngineError(withUpstreamMessage(MISCONFIGURED, 'the token server returned no bearer token'));
    }
    const { access_token: text, expires_in } = data;
    const seconds = expires_in ?? EXPIRES_DEFAULT;
    const fresh = seconds - Math.min(MARGIN, seconds * MARGIN_SHARE);
    this.#token = { text, givenAt: now, freshUntil: now + fresh * 1_000 };
    return this.#token;
  }

  async #request(): Promise<UpstreamAnswer> {
    const { client_id, client_secret, client_authentication, scope, audience, token_url } = this.#settings;
    const inBody = client_authentication === 'body';
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      ...(inBody ? { client_id, client_secret } : {}),
      ...(scope === undefined ? {} : { scope }),
      ...(audience === undefined ? {} : { audience }),
    });
    const basic = `Basic ${Buffer.from(`${formEncoded(client_id)}:${formEncoded(client_secret)}`).toString('base64')}`;
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      ...(inBody ? {} : { authorization: basic }),
    };
    try {
      return await this.#http.call({ method: 'POST', path: token_url, headers, text: form.toString() });
    } catch (error) {
      throw new EngineError(away(failureOf(error).said ?? failureOf(error).message), { cause: error });
    }
  }

  /** Passes on only the protocol's error fields, because some servers quote the whole request. */
  #refusalOf({ status, json }: UpstreamAnswer): EngineFailure {
    const { data } = refused.safeParse(json);
    const said = [String(status), data?.error, data?.error_description].filter(Boolean).join(' ');
    const words = said.replaceAll(this.#settings.client_secret, '[secret]');
    const isOurs = status >= 300 && status < 500 && status !== TOO_MANY_REQUESTS;
    return isOurs
      ? withUpstreamMessage(MISCONFIGURED, `the token server rejected us: ${words}`)
      : away(words);
  }
}

/** No request reached the engine, and none can until the token server is back, so tasks wait. */
function away(words: string): EngineFailure {
  return withUpstreamMessage(UNREACHABLE, `the token server: ${words}`);
}

function headerOf({ text }: Token): string {
  return `Bearer ${text}`;
}

/** Encodes a half of the Basic header as required by RFC 6749, section 2.3.1. */
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
