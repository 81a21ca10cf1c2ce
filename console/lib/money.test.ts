import fc from 'fast-check';
import {
  exactUsd,
  jsonUsd,
  parseTypedUsd,
  parseUsd,
  plainUsd,
  shortUsd,
  THIN_SPACE,
  usd,
  usdOfNumber,
} from './money.ts';
import { describePrices } from './other-prices.ts';
import { mostCost, mostTokens } from './price.ts';

const nano = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });

test('an amount survives formatting and parsing in every format that shows all digits', () => {
  fc.assert(
    fc.property(nano, (amount) => {
      expect(usd(plainUsd(amount))).toBe(amount);
      const { main, rest } = exactUsd(amount);
      const shown = `${main}${rest}`.replaceAll(THIN_SPACE, '').replace('\u2212', '-').replace(/[$,]/g, '');
      expect(usd(shown)).toBe(amount);
    }),
  );
});

test.each([
  ['0.00003675', '$0.000 036 75', '$0.000 037'],
  ['3.916204', '$3.916 204', '$3.92'],
  ['1204.11', '$1,204.11', '$1,204.11'],
  ['0.00', '$0.00', '$0.00'],
  ['-0.5', '\u2212$0.50', '\u2212$0.50'],
  ['0.9999', '$0.999 9', '$1.00'],
  ['0.000000001', '$0.000 000 001', '$0.000 000 001'],
])('%s is %s, in short %s', (text, exact, short) => {
  const { main, rest } = exactUsd(usd(text));
  expect(`${main}${rest}`.replaceAll(THIN_SPACE, ' ')).toBe(exact);
  expect(shortUsd(usd(text)).replaceAll(THIN_SPACE, ' ')).toBe(short);
});

test('only zero is shown as zero', () => {
  fc.assert(fc.property(nano, (amount) => (shortUsd(amount) === '$0.00') === (amount === 0n)));
});

test('JSON numbers of the API are read through their text', () => {
  expect([usdOfNumber(1e-9), usdOfNumber(3.5e-7), usdOfNumber(12.3), usdOfNumber(0)]).toEqual([
    1n,
    350n,
    12_300_000_000n,
    0n,
  ]);
  expect(jsonUsd(usd('0.000000001'))).toBe(1e-9);
});

test('invalid amounts are rejected', () => {
  for (const text of ['', '1e3', 'NaN', '1.0000000001', '1,5', '$1', '0x1']) {
    expect([text, parseUsd(text)]).toEqual([text, undefined]);
  }
});

test('the maximum cost of a call counts bytes, uses the highest price and rounds up', () => {
  const prices = {
    prompt: '0.00000015',
    completion: '0.0000006',
    ...{ request: '0', image: '0', internal_reasoning: '0', input_cache_read: '0', input_cache_write: '0' },
  };
  expect(mostTokens(['水'])).toBe(3 + 32);
  expect(mostCost(prices, 10, 1)).toBe(2_100n);
  expect(mostCost({ ...prices, prompt: '0.000000000001' }, 1, 0)).toBe(1n);
});

test('every price that a call may be charged is described, and no other', () => {
  const plain = { prompt: '0.000003', completion: '0.000015', request: '0', image: '0' };
  const usual = {
    internal_reasoning: '0.000015',
    input_cache_read: '0.000003',
    input_cache_write: '0.000003',
  };
  expect(describePrices({ ...plain, ...usual })).toBe('$3.00 in, $15.00 out per million tokens');
  const own = {
    internal_reasoning: '0.00002',
    input_cache_read: '0.0000003',
    input_cache_write: '0.00000375',
  };
  expect(describePrices({ ...plain, ...own, request: '0.25', image: '2' })).toBe(
    '$3.00 in, $15.00 out per million tokens · $0.30 per million read from a cache · $3.75 per million written to a cache · ' +
      '$20.00 per million reasoning tokens · $2.00 per image · $0.25 per call',
  );
});

test.each([
  ['1,000.00', '1000.00'],
  ['10,000', '10000.00'],
  [' -1,234,567.5 ', '-1234567.50'],
  ['12.50', '12.50'],
])('people may type amounts as they are shown: %s', (typed, plain) => {
  expect(plainUsd(parseTypedUsd(typed) ?? 0n)).toBe(plain);
});

test.each(['1,5', '1,50', '10,00.00', ',100', '1,000,0', '1.000,00', ''])(
  'a comma that does not separate thousands is no amount: %s',
  (typed) => {
    expect(parseTypedUsd(typed)).toBeUndefined();
  },
);
