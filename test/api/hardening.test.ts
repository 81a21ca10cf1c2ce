import { createLogger } from '../../src/lib/logger.ts';
import { Sink } from '../operators/support/sink.ts';
import { productSources } from './support/product-sources.ts';
import { hasNestedRepetition } from './support/star-height.ts';

const sources = productSources();

/** Matches a regular expression literal where an expression may begin. Division never follows these. */
const LITERAL =
  /(?<=[(,=:[!&|?{};]\s*|return\s|=>\s*)\/((?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/[dgimsuvy]*(?=[\s.,;)\]}:])/g;

/** Each repetition begins with a character that cannot occur inside it, so there is only one way to split any text. */
const DELIMITED = [
  'src/catalog/catalog-file.schema.ts',
  'src/catalog/parse-catalog.ts',
  'src/engines/http/http-settings.ts',
  'src/engines/http/template.ts',
  'src/engines/model-path.ts',
  'src/invocation/dialects/media-parts.ts',
  'src/media/tool-failure.ts',
];

describe('regular expressions', () => {
  test.each([
    ['(a+)+$', true],
    ['^(?:a|b*)*$', true],
    ['(?<word>\\w+\\s?)*', true],
    ['((a{2,})x){3,}', true],
    ['^[a-z+*]+(?:-[a-z]{1,9})*$', false],
    ['\\(a+\\)+', false],
    ['(a+)?(b+){2}', false],
  ])('%s has a nested repetition: %s', (pattern, expected) => {
    expect(hasNestedRepetition(pattern)).toBe(expected);
  });

  test('none of them can take exponential time', () => {
    const found = sources.flatMap(({ path, text }) =>
      [...text.matchAll(LITERAL)].map(([literal, pattern = '']) => ({ path, literal, pattern })),
    );
    expect(found.length).toBeGreaterThan(100);
    const nested = found.filter(({ pattern }) => hasNestedRepetition(pattern));
    expect([...new Set(nested.map(({ path }) => path))].sort()).toEqual(DELIMITED);
  });
});

test('proofs of identity are compared in constant time only', () => {
  const proves = /createHmac\(|createHash\('sha256'\)\.update\((?:text|token)\)\.digest\(\)/;
  // these create signatures for others to compare
  const signers = ['src/engines/http/signature.ts', 'src/webhooks/webhook-signature.ts'];
  const makers = sources.filter(({ path, text }) => proves.test(text) && !signers.includes(path));
  expect(makers.length).toBeGreaterThanOrEqual(5);
  for (const { path, text } of makers) {
    expect([path, text.includes('timingSafeEqual(')]).toEqual([path, true]);
    expect([
      path,
      /\b(?:digest|signature|token|mac)\b[^=!\n]* [=!]== (?!undefined|null|')/i.test(text),
    ]).toEqual([path, false]);
  }
});

test('redacts secrets, prompts and messages in the log, at the top level of a line and below', () => {
  const sink = new Sink();
  const log = createLogger({ name: 'test', level: 'info' }, sink);
  const leak = 'must not be seen';
  log.info({ headers: { authorization: leak, 'x-api-key': leak } }, 'a request');
  log.info({ provider: { apiKey: leak, api_key: leak }, key: { secret: leak } }, 'settings');
  log.info({ body: { prompt: leak, messages: [{ content: leak }] } }, 'a body');
  log.info(
    { authorization: leak, secret: leak, apiKey: leak, prompt: leak, messages: [leak] },
    'without a parent',
  );
  expect(sink.text.split('\n').filter(Boolean)).toHaveLength(4);
  expect(sink.text).not.toContain(leak);
});
