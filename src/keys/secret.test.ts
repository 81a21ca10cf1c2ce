import { createHash } from 'node:crypto';
import { newUuid } from '../lib/ids.ts';
import { maskedSecret, newSecret, secretHash } from './secret.ts';

const ACCOUNT = '019abcde-0000-0000-0000-000000000fff';

test('a secret is well-formed and its hash is the SHA-256 of all of it', () => {
  const secret = newSecret(ACCOUNT);
  expect(secret).toMatch(/^sk-tg-v2-[0-9A-Za-z]{52}$/);
  expect(secretHash(secret)).toBe(createHash('sha256').update(secret).digest('hex'));
  expect(new Set(Array.from({ length: 1000 }, () => newSecret(ACCOUNT))).size).toBe(1000);
});

test('a secret carries the bucket of its account, in base62 before the checksum', () => {
  expect(newSecret(ACCOUNT).slice(-9, -6)).toBe('143');
  expect(newSecret('019abcde-0000-0000-0000-000000000000').slice(-9, -6)).toBe('000');
});

test('secrets of the first version are still read', () => {
  const secret = 'sk-tg-v1-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0Hj6Mi';
  expect(secretHash(secret)).toBe(createHash('sha256').update(secret).digest('hex'));
  expect(secretHash(secret.replace('v1', 'v2'))).toBeUndefined();
});

test.each([
  ['first', 'sk-tg-v1-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0Hj6Mi'],
  ['second', newSecret(newUuid())],
])('no change of one character passes the checksum of the %s version', (_version, secret) => {
  for (let index = 0; index < secret.length; index += 1) {
    for (const character of 'aZ0_') {
      if (secret[index] !== character) {
        expect(secretHash(secret.slice(0, index) + character + secret.slice(index + 1))).toBeUndefined();
      }
    }
  }
});

test.each(['', 'sk-tg-v1-', ' sk', 'sk-tg-v1-é'.padEnd(58, '0'), '0'.repeat(100_000)])(
  '%.20j is no secret',
  (text) => {
    expect(secretHash(text)).toBeUndefined();
  },
);

test('a masked secret shows seven of its characters', () => {
  const secret = newSecret(ACCOUNT);
  expect(maskedSecret(secret)).toBe(`sk-tg-v2-${secret.slice(9, 12)}...${secret.slice(-4)}`);
});
