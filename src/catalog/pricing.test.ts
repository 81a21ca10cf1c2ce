import fc from 'fast-check';
import { nanoUsd } from '../lib/money.ts';
import { NO_USAGE, type TokenUsage } from '../lib/usage.ts';
import {
  affordableOutputTokens,
  capCharge,
  chargeFor,
  costCeiling,
  formatPrice,
  ONE_CALL,
  PRICE_NAMES,
  type Pricing,
  parsePrice,
  priceVersionId,
} from './pricing.ts';

const FREE = Object.fromEntries(PRICE_NAMES.map((name) => [name, 0n])) as Pricing;

function prices(texts: Partial<Record<keyof Pricing, string>>): Pricing {
  return {
    ...FREE,
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, parsePrice(text)])),
  };
}

const price = fc.bigInt({ min: 0n, max: 10n ** 9n });
const anyPricing: fc.Arbitrary<Pricing> = fc
  .array(price, { minLength: PRICE_NAMES.length, maxLength: PRICE_NAMES.length })
  .map((values) => Object.fromEntries(PRICE_NAMES.map((name, index) => [name, values[index]])) as Pricing);
const count = fc.nat({ max: 3_000_000 });
const anyUsage: fc.Arbitrary<TokenUsage> = fc
  .tuple(count, count, count, count, count)
  .map(([fresh, read, write, visible, reasoning]) => ({
    inputTokens: fresh + read + write,
    cacheReadTokens: read,
    cacheWriteTokens: write,
    outputTokens: visible + reasoning,
    reasoningTokens: reasoning,
  }));

test('charges by the published formula, line by line', () => {
  const pricing = prices({
    prompt: '0.000003',
    completion: '0.000015',
    input_cache_read: '0.0000003',
    input_cache_write: '0.00000375',
    internal_reasoning: '0.00002',
    request: '0.001',
  });
  const usage = {
    inputTokens: 1_000,
    cacheReadTokens: 600,
    cacheWriteTokens: 100,
    outputTokens: 50,
    reasoningTokens: 20,
  };
  expect(chargeFor(usage, ONE_CALL, pricing)).toEqual({
    amount: 900_000n + 180_000n + 375_000n + 450_000n + 400_000n + 1_000_000n,
    lines: {
      input: 900_000n,
      cache_read: 180_000n,
      cache_write: 375_000n,
      output: 450_000n,
      reasoning: 400_000n,
      request: 1_000_000n,
    },
  });
});

test('a cache or reasoning price of zero falls back to the token price', () => {
  const pricing = prices({ prompt: '0.000003', completion: '0.000015' });
  const usage = { ...NO_USAGE, inputTokens: 10, cacheReadTokens: 10, outputTokens: 4, reasoningTokens: 4 };
  expect(chargeFor(usage, ONE_CALL, pricing).amount).toBe(30_000n + 60_000n);
});

test('half a nano-dollar is rounded up, only once per charge', () => {
  const pricing = prices({ prompt: '0.0000000005', completion: '0.0000000005' });
  expect(chargeFor({ ...NO_USAGE, inputTokens: 1 }, ONE_CALL, pricing).amount).toBe(1n);
  expect(chargeFor({ ...NO_USAGE, inputTokens: 1, outputTokens: 1 }, ONE_CALL, pricing).amount).toBe(1n);
});

test('lines always sum to the charge, and none is negative', () => {
  fc.assert(
    fc.property(anyUsage, anyPricing, (usage, pricing) => {
      const { amount, lines } = chargeFor(usage, ONE_CALL, pricing);
      expect(Object.values(lines).reduce((sum: bigint, line) => sum + line, 0n)).toBe(amount);
      expect(Object.values(lines).every((line) => line > 0n)).toBe(true);
    }),
  );
});

test('the ceiling is never below the charge for usage within its limits', () => {
  fc.assert(
    fc.property(anyUsage, anyPricing, (usage, pricing) => {
      const ceiling = costCeiling(usage.inputTokens, usage.outputTokens, ONE_CALL, pricing);
      expect(chargeFor(usage, ONE_CALL, pricing).amount).toBeLessThanOrEqual(ceiling);
    }),
  );
});

test('the affordable output fits the budget, and one token more does not', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 13n }), count, anyPricing, (budget, input, pricing) => {
      const tokens = affordableOutputTokens(nanoUsd(budget), input, ONE_CALL, pricing);
      const base = costCeiling(input, 0, ONE_CALL, pricing);
      if (base > budget) {
        expect(tokens).toBe(0);
      } else if (tokens < Number.MAX_SAFE_INTEGER) {
        expect(costCeiling(input, tokens, ONE_CALL, pricing)).toBeLessThanOrEqual(budget);
        expect(costCeiling(input, tokens + 1, ONE_CALL, pricing)).toBeGreaterThan(budget);
      }
    }),
  );
});

test('the part a hold does not cover becomes shortfall, and the lines still sum', () => {
  fc.assert(
    fc.property(anyUsage, anyPricing, fc.bigInt({ min: 0n, max: 10n ** 13n }), (usage, pricing, limit) => {
      const full = chargeFor(usage, ONE_CALL, pricing);
      const { charge, shortfall } = capCharge(full, nanoUsd(limit));
      expect(charge.amount + shortfall).toBe(full.amount);
      expect(charge.amount).toBeLessThanOrEqual(limit);
      expect(Object.values(charge.lines).reduce((sum: bigint, line) => sum + line, 0n)).toBe(charge.amount);
    }),
  );
});

test('prices are parsed and formatted as plain decimals of up to twelve places', () => {
  expect(parsePrice('0.000000000001')).toBe(1n);
  expect(parsePrice('0.0000000000001')).toBeUndefined();
  expect(parsePrice('1e-6')).toBeUndefined();
  expect(formatPrice(0n)).toBe('0');
  expect(formatPrice(150_000n)).toBe('0.00000015');
  fc.assert(fc.property(price, (pico) => parsePrice(formatPrice(pico)) === pico));
});

test('equal prices have the same version, different prices a different one', () => {
  const pricing = prices({ prompt: '0.000003' });
  expect(priceVersionId('a/b', pricing)).toBe(priceVersionId('a/b', { ...pricing }));
  expect(priceVersionId('a/b', pricing)).not.toBe(priceVersionId('a/b', { ...pricing, request: 1n }));
  expect(priceVersionId('a/b', pricing)).not.toBe(priceVersionId('a/c', pricing));
});
