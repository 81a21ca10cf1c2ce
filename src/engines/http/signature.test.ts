import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createSigner } from './signature.ts';
import { signatureSettings } from './signature-settings.ts';

const HTTP = {
  baseUrl: 'https://service.example.com',
  headers: {},
  connectMs: 1,
  firstByteMs: 1,
  idleMs: 1,
  totalMs: 1,
  privateDownloads: false,
};

async function headersOf(signature: object, body = ''): Promise<Readonly<Record<string, string>>> {
  const signer = createSigner(signatureSettings.parse(signature), HTTP, { now: () => 1_700_000_000_500 });
  const call = { method: 'POST', url: new URL('https://service.example.com/run'), headers: {}, body };
  return (await signer?.sign(call, undefined)) ?? {};
}

test('a token names its issuer and expiry and is signed with its secret', async () => {
  const headers = await headersOf({
    kind: 'jwt',
    issuer: 'access',
    secret: 'secret',
    claims: { exp: 0, aud: 'x' },
  });
  const [head = '', claims = '', signed] = (headers.authorization ?? '').replace('Bearer ', '').split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  expect(read(head)).toEqual({ alg: 'HS256', typ: 'JWT' });
  expect(read(claims)).toEqual({
    iss: 'access',
    aud: 'x',
    iat: 1_699_999_995,
    nbf: 1_699_999_995,
    exp: 1_700_001_795,
  });
  expect(signed).toBe(createHmac('sha256', 'secret').update(`${head}.${claims}`).digest('base64url'));
});

test('puts a signature of the body into the configured header', async () => {
  // RFC 4231, test case 2
  const signature = { kind: 'hmac', header: 'x-signature', secret: 'Jefe', prefix: 'sha256=' };
  expect(await headersOf(signature, 'what do ya want for nothing?')).toEqual({
    'x-signature': 'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  });
  expect(createSigner(undefined, HTTP)).toBeUndefined();
});
