import {
  createHash,
  createHmac,
  createPrivateKey,
  type Hash,
  type Hmac,
  type KeyObject,
  sign,
} from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { CallSigner, OutgoingCall } from '../call-signer.ts';
import { UpstreamHttp, type UpstreamHttpSettings } from '../upstream-http.ts';
import { OAuthTokens } from './oauth-tokens.ts';
import type { AwsSettings, JwtSettings, SignatureSettings } from './signature-settings.ts';

/** How far the service's clock may be behind ours, in seconds. */
const LEEWAY = 5;

/** Request headers that a signature covers besides those it adds. Proxies may change others. */
const SIGNED = ['content-type'];

/** Signs calls with AWS Signature Version 4, which covers method, address, body and time. */
class AwsSigner implements CallSigner {
  readonly #signature: SignatureV4;
  readonly #clock: Clock;

  constructor(settings: AwsSettings, clock: Clock) {
    const { region, service, access_key_id, secret_access_key, session_token } = settings;
    const credentials = {
      accessKeyId: access_key_id,
      secretAccessKey: secret_access_key,
      ...(session_token === undefined ? {} : { sessionToken: session_token }),
    };
    this.#signature = new SignatureV4({ region, service, credentials, sha256: Sha256 });
    this.#clock = clock;
  }

  async sign({ method, url, headers, body }: OutgoingCall): Promise<Record<string, string>> {
    const covered = SIGNED.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]));
    const request = {
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: queryOf(url),
      headers: { host: url.host, ...Object.fromEntries(covered) },
      ...(body === '' ? {} : { body }),
    };
    const signed = await this.#signature.sign(request, { signingDate: new Date(this.#clock.now()) });
    const added = Object.entries(signed.headers).filter(([name]) => !(name in request.headers));
    return Object.fromEntries(added);
  }
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** Adapts Node's SHA-256, or its HMAC when there is a secret, to the interface of SignatureV4. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(bytes: Bytes): void {
    this.#hash.update(bytesOf(bytes));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

/**
 * Creates the signer of an entry, undefined when its calls are not signed. A token server gets the same timeouts as the entry's connections
 * (`http`).
 */
export function createSigner(
  signature: SignatureSettings | undefined,
  http: UpstreamHttpSettings,
  clock: Clock = systemClock,
): CallSigner | undefined {
  switch (signature?.kind) {
    case undefined:
      return undefined;
    case 'hmac': {
      const { header, prefix, secret } = signature;
      return {
        sign: async ({ body }) => ({
          [header]: prefix + createHmac('sha256', secret).update(body).digest('hex'),
        }),
      };
    }
    case 'jwt': {
      const makeToken = tokenMaker(signature);
      return {
        sign: async () => ({ authorization: `Bearer ${makeToken(Math.floor(clock.now() / 1_000))}` }),
      };
    }
    case 'aws':
      return new AwsSigner(signature, clock);
    case 'oauth': {
      const { origin: baseUrl } = new URL(signature.token_url);
      const headers = { accept: 'application/json' };
      const tokenServer = new UpstreamHttp({ ...http, baseUrl, headers, query: {}, signer: undefined });
      return new OAuthTokens(signature, tokenServer, clock);
    }
  }
}

function queryOf({ searchParams }: URL): Record<string, string[]> {
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]),
  );
}

function bytesOf(bytes: Bytes): string | Uint8Array {
  if (typeof bytes === 'string') {
    return bytes;
  }
  return ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
}

/** Returns a function that creates a JSON Web Token (RFC 7519) from an entry's settings. `now` is in Unix seconds. */
function tokenMaker(settings: JwtSettings): (now: number) => string {
  const { algorithm, key_id: kid, claims, issuer: iss, subject: sub, audience: aud, seconds } = settings;
  const head = { alg: algorithm, typ: 'JWT', ...(kid === undefined ? {} : { kid }) };
  const named = {
    ...claims,
    iss,
    ...(sub === undefined ? {} : { sub }),
    ...(aud === undefined ? {} : { aud }),
  };
  const signText = textSigner(settings);
  return (now) => {
    const times = { iat: now - LEEWAY, nbf: now - LEEWAY, exp: now - LEEWAY + seconds };
    const text = [head, { ...named, ...times }].map(encode).join('.');
    return `${text}.${signText(text).toString('base64url')}`;
  };
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function textSigner({ secret = '', private_key: pem }: JwtSettings): (text: string) => Buffer {
  if (pem === undefined) {
    return (text) => createHmac('sha256', secret).update(text).digest();
  }
  const key: KeyObject = createPrivateKey(pem);
  return (text) => sign('sha256', Buffer.from(text), key);
}
