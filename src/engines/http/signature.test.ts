import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { signatureHeaders } from './signature.ts';

test('a token says who signs and until when, and is signed by its secret', () => {
  const signature = { kind: 'jwt', issuer: 'access', secret: 'secret', seconds: 1_800 } as const;
  const [head = '', claims = '', signed] = (
    signatureHeaders(signature, '', 1_700_000_000_500).authorization ?? ''
  )
    .replace('Bearer ', '')
    .split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  expect(read(head)).toEqual({ alg: 'HS256', typ: 'JWT' });
  expect(read(claims)).toEqual({ iss: 'access', exp: 1_700_001_800, nbf: 1_699_999_995 });
  expect(signed).toBe(createHmac('sha256', 'secret').update(`${head}.${claims}`).digest('base64url'));
});

test('a signature of the body stands in the header that the service reads', () => {
  // RFC 4231, test case 2
  const signature = { kind: 'hmac', header: 'x-signature', secret: 'Jefe', prefix: 'sha256=' } as const;
  expect(signatureHeaders(signature, 'what do ya want for nothing?', 0)).toEqual({
    'x-signature': 'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  });
  expect(signatureHeaders(undefined, 'x', 0)).toEqual({});
});
