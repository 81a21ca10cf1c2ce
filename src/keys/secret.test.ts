import { createHash } from 'node:crypto';
import { maskedSecret, newSecret, secretHash } from './secret.ts';

test('a secret is well-formed and its hash is the SHA-256 of all of it', () => {
  const secret = newSecret();
  expect(secret).toMatch(/^sk-tg-v1-[0-9A-Za-z]{49}$/);
  expect(secretHash(secret)).toBe(createHash('sha256').update(secret).digest('hex'));
  expect(new Set(Array.from({ length: 1000 }, newSecret)).size).toBe(1000);
});

test('no change of one character passes the checksum', () => {
  const secret = newSecret();
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
  const secret = newSecret();
  expect(maskedSecret(secret)).toBe(`sk-tg-v1-${secret.slice(9, 12)}...${secret.slice(-4)}`);
});
