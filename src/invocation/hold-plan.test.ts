import { ONE_CALL, parsePrice } from '../catalog/pricing.ts';
import { nanoUsd } from '../lib/money.ts';
import { grantedOutputTokens, type HoldWish, planHold } from './hold-plan.ts';

const price = (text: string) => parsePrice(text) ?? 0n;
const PRICING = {
  prompt: price('0.000001'),
  completion: price('0.000002'),
  request: 0n,
  image: 0n,
  web_search: 0n,
  internal_reasoning: 0n,
  input_cache_read: 0n,
  input_cache_write: 0n,
};

function wish(others: Partial<HoldWish> = {}, model: Partial<HoldWish['model']> = {}): HoldWish {
  return {
    model: {
      id: 'm',
      endpoints: ['chat'],
      contextLength: 10_000,
      maxOutputTokens: 1_000,
      pricing: PRICING,
      priceVersion: 'v',
      routes: [],
      supportedParameters: [],
      inputModalities: ['text'],
      itemTokens: {},
      ...model,
    },
    input: { textTokens: 80, tokens: 90, charged: 90, upperBound: 100, knownBound: 100, images: 0 },
    units: ONE_CALL,
    maxTokens: undefined,
    maxCost: undefined,
    floorTokens: 16,
    ...others,
  };
}

test("without max_tokens the hold covers at most the model's cap and at least the floor", () => {
  expect(planHold(wish())).toEqual({ amount: 2_100_000n, minimum: 132_000n, outputTokens: 1_000 });
});

test('with max_tokens the hold is all or nothing', () => {
  expect(planHold(wish({ maxTokens: 50 }))).toEqual({
    amount: 200_000n,
    minimum: 200_000n,
    outputTokens: 50,
  });
  expect(planHold(wish({ maxTokens: 9_000 })).outputTokens).toBe(1_000);
  expect(planHold(wish({ maxTokens: 3 }))).toMatchObject({ amount: 106_000n, minimum: 106_000n });
});

test('the cap shrinks to the room left in the context', () => {
  expect(planHold(wish({}, { contextLength: 300 })).outputTokens).toBe(200);
  expect(planHold(wish({}, { contextLength: 105 })).outputTokens).toBe(15);
  expect(() => planHold(wish({}, { contextLength: 90 }))).toThrow('91 tokens > 90 maximum');
});

test('x-max-cost caps the hold and is rejected below the floor', () => {
  expect(planHold(wish({ maxCost: nanoUsd(500_000) }))).toMatchObject({
    amount: 500_000n,
    minimum: 132_000n,
  });
  expect(planHold(wish({ maxCost: nanoUsd(500_000), maxTokens: 900 }))).toMatchObject({
    amount: 500_000n,
    minimum: 500_000n,
  });
  expect(() => planHold(wish({ maxCost: nanoUsd(131_999) }))).toThrow('x-max-cost');
});

test('the granted amount pays for exactly the granted tokens', () => {
  const plan = planHold(wish());
  expect(grantedOutputTokens(wish(), plan, plan.amount)).toBe(1_000);
  expect(grantedOutputTokens(wish(), plan, nanoUsd(200_000))).toBe(50);
  expect(grantedOutputTokens(wish(), plan, plan.minimum)).toBe(16);
});

test('a free model needs no money', () => {
  const free = { pricing: { ...PRICING, prompt: 0n, completion: 0n } };
  const plan = planHold(wish({}, free));
  expect(plan).toEqual({ amount: 0n, minimum: 0n, outputTokens: 1_000 });
  expect(grantedOutputTokens(wish({}, free), plan, nanoUsd(0))).toBe(1_000);
});
