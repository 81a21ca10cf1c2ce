import { createHash } from 'node:crypto';
import { newUuid } from '../lib/ids.ts';
import { maskedSecret, newSecret, secretHash } from './secret.ts';

const ACCOUNT = '019abcde-0000-0000-0000-000000000fff';

test('a secret is well-formed and its hash is the SHA-256 of all of it', () => {
  const secret = newSecret(ACCOUNT);
  expect(secret).toMatch(/^sk-tg-v1-[0-9A-Za-z]{49}$/);
  expect(secretHash(secret)).toBe(createHash('sha256').update(secret).digest('hex'));
  expect(new Set(Array.from({ length: 1000 }, () => newSecret(ACCOUNT))).size).toBe(1000);
});

test('the last 12 bits of a secret are the bucket of its account', () => {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const bitsOf = (secret: string) =>
    [...secret.slice(9, -6)].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
  expect(bitsOf(newSecret(ACCOUNT)) % 4_096n).toBe(0xfffn);
  expect(bitsOf(newSecret('019abcde-0000-0000-0000-000000000000')) % 4_096n).toBe(0n);
});

test.each([
  ['all random', 'sk-tg-v1-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg0Hj6Mi'],
  ['with a bucket', newSecret(newUuid())],
])('no single changed character passes the checksum of a secret that is %s', (_kind, secret) => {
  expect(secretHash(secret)).toBe(createHash('sha256').update(secret).digest('hex'));
  for (let index = 0; index < secret.length; index += 1) {
    for (const character of 'aZ0_') {
      if (secret[index] !== character) {
        expect(secretHash(secret.slice(0, index) + character + secret.slice(index + 1))).toBeUndefined();
      }
    }
  }
});

test.each(['', 'sk-tg-v1-', ' sk', 'sk-tg-v1-é'.padEnd(58, '0'), '0'.repeat(100_000)])(
  '%.20j is not a secret',
  (text) => {
    expect(secretHash(text)).toBeUndefined();
  },
);

test('a masked secret shows seven of its characters', () => {
  const secret = newSecret(ACCOUNT);
  expect(maskedSecret(secret)).toBe(`sk-tg-v1-${secret.slice(9, 12)}...${secret.slice(-4)}`);
});
