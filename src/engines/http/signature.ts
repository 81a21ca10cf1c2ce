import { createHmac } from 'node:crypto';
import type { HttpEngineSettings } from './http-settings.ts';

/** The headers that sign a call. `nowMs` is Unix ms; `body` is what is sent, empty for none. */
export function signatureHeaders(
  signature: HttpEngineSettings['signature'],
  body: string,
  nowMs: number,
): Record<string, string> {
  switch (signature?.kind) {
    case undefined:
      return {};
    case 'hmac': {
      const { header, prefix, secret } = signature;
      return { [header]: prefix + createHmac('sha256', secret).update(body).digest('hex') };
    }
    case 'jwt':
      return { authorization: `Bearer ${tokenOf(signature, Math.floor(nowMs / 1_000))}` };
  }
}

/** Seconds that the service's clock may be behind ours. */
const LEEWAY = 5;

/** A JSON Web Token (RFC 7519), signed with HS256. */
function tokenOf(
  { issuer, secret, seconds }: { issuer: string; secret: string; seconds: number },
  now: number,
): string {
  const parts = [
    { alg: 'HS256', typ: 'JWT' },
    { iss: issuer, exp: now + seconds, nbf: now - LEEWAY },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
