import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { pause } from '../../lib/pause.ts';
import type { CallSigner } from '../call-signer.ts';
import { EngineError, type EngineFailure } from '../engine.types.ts';
import { failureOf, MISCONFIGURED, UNREACHABLE, withWords } from '../engine-failures.ts';
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

/** Seconds for which a token counts whose server does not say. */
const EXPIRES_DEFAULT = 300;
/** A token is left off this long before it expires, in seconds, or a fifth of its time where that is less. */
const MARGIN = 60;
const MARGIN_SHARE = 0.2;
/** Ms: a token that is refused so soon after it was given out is not too old, and another one would be refused as well. */
const YOUNG_MS = 10_000;
/** Ms a call waits for a token; the request for it has clocks of its own. */
const WAIT_MS = 600_000;
const TOO_MANY_REQUESTS = 429;

interface Token {
  readonly text: string;
  readonly givenAt: number;
  readonly freshUntil: number;
}

/**
 * Tokens of a client of an OAuth 2 server (RFC 6749, client credentials). One is kept until shortly before it expires; one request for the next
 * is in flight at a time, however many calls wait. The secret leaves for the token server only and stands in no failure. Owns `http`.
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

  /** Throws EngineError: unreachable where the token server is away, misconfigured where it refuses the client. */
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
      throw new EngineError(withWords(MISCONFIGURED, 'the token server answered without a bearer token'));
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

  /** Only what the protocol has for it is passed on: some servers quote the whole request. */
  #refusalOf({ status, json }: UpstreamAnswer): EngineFailure {
    const { data } = refused.safeParse(json);
    const said = [String(status), data?.error, data?.error_description].filter(Boolean).join(' ');
    const words = said.replaceAll(this.#settings.client_secret, '[secret]');
    const isOurs = status >= 300 && status < 500 && status !== TOO_MANY_REQUESTS;
    return isOurs ? withWords(MISCONFIGURED, `the token server refused us: ${words}`) : away(words);
  }
}

/** Nothing was asked of the engine, and nothing can be until the token server is back: tasks wait. */
function away(words: string): EngineFailure {
  return withWords(UNREACHABLE, `the token server: ${words}`);
}

function headerOf({ text }: Token): string {
  return `Bearer ${text}`;
}

/** As RFC 6749, 2.3.1 has both halves of the Basic header. */
function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
