import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { countTokens as reference } from 'gpt-tokenizer/encoding/o200k_base';
import { countsAtOnce, countTokens, countTokensInSteps, splitTokens } from './token-counter.ts';

const PROSE =
  'The quick brown fox jumps over the lazy dog. Größe, naïve, 東京, 👍🏽 and\n\n  indented code: if (x) { return y; } ';

/** Measures CPU time, which unlike wall-clock time does not grow on a busy machine. */
function milliseconds(work: () => unknown): number {
  const startedAt = process.cpuUsage();
  work();
  return process.cpuUsage(startedAt).user / 1_000;
}

test('counts what the tokenizer counts', () => {
  for (const text of ['', 'a', PROSE, PROSE.repeat(50), JSON.stringify({ a: [1, 2, { b: PROSE }] })]) {
    expect(countTokens(text)).toBe(text === '' ? 0 : reference(text));
  }
});

test('treats what looks like a control token as text', () => {
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

test('slices a run that is too long wherever it begins, and no other run', () => {
  for (let begin = 0; begin <= 520; begin += 1) {
    const [before, after] = [
      '\n'.repeat(begin % 200) + '- '.repeat((begin - (begin % 200)) / 2),
      ' and so on',
    ];
    const run = (length: number) => 'xyz'.repeat(100).slice(0, length);
    expect(countTokens(before + run(256) + after)).toBe(reference(before + run(256) + after));
    const [kept, rest] = [run(257).slice(0, 256), run(257).slice(256)];
    const sliced = [before, kept, rest, after].map((part) => reference(part)).reduce((sum, one) => sum + one);
    expect(countTokens(before + run(257) + after)).toBe(sliced);
  }
});

test('every white-space character ends a run of letters, and its neighbors do not', () => {
  const spaces = Array.from({ length: 65_536 }, (_, unit) => unit).filter((unit) =>
    /\s/.test(String.fromCharCode(unit)),
  );
  for (const unit of new Set(spaces.flatMap((space) => [space - 1, space, space + 1]))) {
    const between = String.fromCharCode(unit);
    const text = `${'xyz'.repeat(42)}x${between}${'xyz'.repeat(44)}`;
    const sliced = reference(text.slice(0, 256)) + reference(text.slice(256));
    expect([unit, countTokens(text)]).toEqual([unit, /\s/.test(between) ? reference(text) : sliced]);
  }
});

test('counts a long text in steps and stops once the count exceeds `enough`', () => {
  const text = PROSE.repeat(2_000);
  expect(countsAtOnce(text)).toBe(false);
  const whole = stepsOf(text, Number.POSITIVE_INFINITY);
  expect(Math.abs(whole.total - reference(text))).toBeLessThan(text.length / 4_096 + 1);
  expect(whole.steps).toBe(Math.ceil(text.length / 4_096));
  const cut = stepsOf(text, 1_000);
  expect(cut.total).toBeLessThan(20_000);
  expect(cut.steps).toBe(2);
});

function stepsOf(text: string, enough: number): { total: number; steps: number } {
  const counting = countTokensInSteps(text, enough);
  for (let steps = 1; ; steps += 1) {
    const { done, value } = counting.next();
    if (done) {
      return { total: value, steps };
    }
  }
}

test('splits into tokens that join to the text', () => {
  const run = splitTokens(PROSE, 10_000);
  expect(run.pieces.join('')).toBe(PROSE);
  expect(run).toMatchObject({ tokens: reference(PROSE), cut: false });
  expect(splitTokens(PROSE, 5)).toMatchObject({ tokens: 5, cut: true });
});

test('keeps nothing of what it counted', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const prompt = () => `${'as I said '.repeat(10_000)} ${longWord()}`;
  const countMany = (times: number) => {
    for (let time = 0; time < times; time += 1) {
      countTokens(prompt());
    }
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = countMany(5);
  // the prompts would take 20 MB if they were kept
  expect(countMany(200) - before).toBeLessThan(4e6);
});

/** Returns 24 random letters: no vocabulary has the word, and V8 keeps a match of it as a slice of the whole text. */
function longWord(): string {
  return randomBytes(12)
    .toString('hex')
    .replace(/\d/g, (digit) => 'ghijklmnop'.charAt(Number(digit)));
}
