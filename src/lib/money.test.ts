import fc from 'fast-check';
import { formatUsd, nanoUsd, parseUsd, parseUsdNumber, usdNumber } from './money.ts';

test.each([
  ['12.5', 12_500_000_000n],
  ['12.50', 12_500_000_000n],
  ['-0.000000375', -375n],
  ['0', 0n],
  ['007', 7_000_000_000n],
])('%s is %s nano-USD', (text, nano) => {
  expect(parseUsd(text)).toBe(nano);
});

test.each([
  '',
  '1e3',
  '+1',
  '.5',
  '1.',
  '1.0000000001',
  ' 1',
  '1 ',
  '0x10',
  '1,5',
  'NaN',
  '12345678901',
  '-',
  '٣',
])('%j is not an amount', (text) => {
  expect(parseUsd(text)).toBeUndefined();
});

test.each([
  [12_500_000_000n, '12.50'],
  [-375n, '-0.000000375'],
  [0n, '0.00'],
  [1n, '0.000000001'],
  [10_000_000n, '0.01'],
  [100_000_001_000n, '100.000001'],
])('%s nano-USD is written as %s', (nano, text) => {
  expect(formatUsd(nanoUsd(nano))).toBe(text);
});

test('a formatted amount parses back to the same amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (nano) => {
      const text = formatUsd(nanoUsd(nano));
      expect(text).toMatch(/^-?\d+\.\d{2,9}$/);
      expect(parseUsd(text)).toBe(nano);
    }),
  );
});

test.each([
  [0.1, 100_000_000n],
  [5, 5_000_000_000n],
  [1e-7, 100n],
  [1e-9, 1n],
  [0.1 + 0.2, 300_000_000n],
  [1.9999999996, 2_000_000_000n],
  [10_000_000, 10_000_000_000_000_000n],
])('the JSON number %d is %s nano-USD, without float arithmetic', (value, nano) => {
  expect(parseUsdNumber(value)).toBe(nano);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, 10_000_001, 1e-10])(
  '%d is not a valid limit',
  (value) => {
    expect(parseUsdNumber(value)).toBeUndefined();
  },
);

test('a limit in cents survives a round trip through a JSON number', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 100_000_000n }), (cents) => {
      const nano = cents * 10_000_000n;
      expect(parseUsdNumber(usdNumber(nanoUsd(nano)))).toBe(nano);
    }),
  );
});

test('an amount beyond BIGINT is rejected', () => {
  expect(() => nanoUsd(2n ** 63n)).toThrow(RangeError);
});
