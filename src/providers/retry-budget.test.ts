import { retryPauseMs } from './backoff.ts';
import { RetryBudget } from './retry-budget.ts';

test('allows retries of a tenth of the calls, and always three', () => {
  let now = 0;
  const budget = new RetryBudget({ now: () => now });
  const taken = () => Array.from({ length: 50 }, () => budget.takeRetry()).filter(Boolean).length;
  expect(taken()).toBe(3);
  now += 10_000;
  for (let call = 0; call < 100; call += 1) {
    budget.countCall();
  }
  expect(taken()).toBe(10);
  now += 10_000;
  expect(taken()).toBe(3);
});

test('backoff: full jitter over a growing bound, on top of the wait the provider asks for', () => {
  expect([0, 1, 2, 10].map((retry) => retryPauseMs(retry, undefined, () => 1))).toEqual([
    100, 200, 400, 2_000,
  ]);
  expect(retryPauseMs(3, undefined, () => 0)).toBe(0);
  expect(retryPauseMs(0, 1_000, () => 0.5)).toBe(1_050);
});
