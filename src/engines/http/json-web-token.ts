import { createHmac, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { JwtSettings } from './signature-settings.ts';

/** Seconds that the service's clock may be behind ours. */
const LEEWAY = 5;

/** Makes JSON Web Tokens (RFC 7519) by an entry's settings, one per call of what it returns. `now` is Unix seconds. */
export function tokenMaker(settings: JwtSettings): (now: number) => string {
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
