import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { readBodyOrEnd } from '../upstream/read-body.ts';
import { usageAtEnd } from './long-answer.ts';
import { readChatUsage } from './usage-reading.ts';

const usage = { prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 };
const read = (end: string) => usageAtEnd(end, readChatUsage);

test.each([
  `…]}}],"usage":${JSON.stringify(usage)},"system_fingerprint":"fp_1"}`,
  `…"}}],\n  "usage" : ${JSON.stringify(usage, null, 2)}\n}`,
  `"usage":{"prompt_tokens":1},…,"usage":${JSON.stringify({ ...usage, details: { text: '}' } })}}`,
])('finds the last usage in %j', (end) => {
  expect(read(end)).toMatchObject({ inputTokens: 7, outputTokens: 9 });
});

test.each(['', '…]}]}', '"usage":null}', '"usage":{"prompt_tokens":7', '"usage":{"nothing":1}}'])(
  'finds none in %j',
  (end) => {
    expect(read(end)).toBeUndefined();
  },
);

const limits = { wholeMax: 10, endMax: 4, readMax: 20 };
const readAll = (...parts: string[]) =>
  readBodyOrEnd(Readable.from(parts.map((part) => Buffer.from(part))), limits);

test('returns a short body whole, of a longer one the end, and gives up on the longest', async () => {
  expect(await readAll('12345', '67890')).toEqual({ bytes: Buffer.from('1234567890'), isWhole: true });
  const long = await readAll('1234567890', 'abc', 'd', 'ef', 'g');
  expect(long.isWhole).toBe(false);
  expect(String(long.bytes)).toBe('defg');
  expect(String((await readAll('12', '3456789012345')).bytes)).toBe('3456789012345');
  await expect(readAll('1234567890', '1234567890', '1')).rejects.toMatchObject({ reason: 'too_long' });
});
