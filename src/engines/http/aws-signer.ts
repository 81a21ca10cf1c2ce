import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Clock } from '../../lib/clock.ts';
import type { CallSigner, OutgoingCall } from '../call-signer.ts';
import type { AwsSettings } from './signature-settings.ts';

/** Headers that a signature covers beside those it adds; proxies may change others. */
const SIGNED = ['content-type'];

/** Signs calls as AWS asks (Signature Version 4): method, address, body and time. */
export class AwsSigner implements CallSigner {
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

function queryOf({ searchParams }: URL): Record<string, string[]> {
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]),
  );
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** Node's SHA-256, or its HMAC where there is a secret, in the form that the signature asks for. */
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

function bytesOf(bytes: Bytes): string | Uint8Array {
  if (typeof bytes === 'string') {
    return bytes;
  }
  return ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
}
