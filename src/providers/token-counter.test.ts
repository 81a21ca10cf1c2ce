import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base';
import { countsQuickly, countTokens, countTokensYielding, splitTokens } from './token-counter.ts';

const PROSE =
  'The quick brown fox jumps over the lazy dog. Größe, naïve, 東京, 👍🏽 and\n\n  indented code: if (x) { return y; } ';

function milliseconds(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

test('counts what the tokenizer counts', () => {
  for (const text of ['', 'a', PROSE, PROSE.repeat(50), JSON.stringify({ a: [1, 2, { b: PROSE }] })]) {
    expect(countTokens(text)).toBe(text === '' ? 0 : reference(text));
  }
});

test('what looks like a control token is text', () => {
  expect(countTokens('say <|endoftext|> now')).toBeGreaterThan(5);
});

test.each([
  ['one letter', 'a'.repeat(100_000)],
  ['spaces', ' '.repeat(100_000)],
  ['line breaks', '\n'.repeat(100_000)],
  ['Chinese', '漢字'.repeat(25_000)],
  ['base64', Buffer.alloc(75_000, 7).toString('base64')],
])('does not block on 100 kB of %s', (_what, text) => {
  countTokens('warm');
  expect(milliseconds(() => countTokens(text))).toBeLessThan(400);
  expect(countTokens(text)).toBeGreaterThan(0);
});

test('slicing long runs hardly changes a count', () => {
  const text = 'x'.repeat(1_000);
  expect(Math.abs(countTokens(text) - reference(text))).toBeLessThanOrEqual(4);
});

test('a long text is counted in slices, other work goes on, and counting stops when it is enough', async () => {
  const text = PROSE.repeat(2_000);
  expect(countsQuickly(text)).toBe(false);
  let ticks = 0;
  const ticker = setInterval(() => {
    ticks += 1;
  }, 1);
  const total = await countTokensYielding(text, Number.POSITIVE_INFINITY);
  clearInterval(ticker);
  expect(Math.abs(total - reference(text))).toBeLessThan(text.length / 32_768 + 1);
  expect(ticks).toBeGreaterThan(2);
  expect(await countTokensYielding(text, 1_000)).toBeLessThan(20_000);
});

test('splits into tokens that join to the text', () => {
  const run = splitTokens(PROSE, 10_000);
  expect(run.pieces.join('')).toBe(PROSE);
  expect(run).toMatchObject({ tokens: reference(PROSE), cut: false });
  expect(splitTokens(PROSE, 5)).toMatchObject({ tokens: 5, cut: true });
});
