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

test('a burst across the border of any ten seconds gets no more retries than a tenth of its calls', () => {
  for (let start = 0; start < 20_000; start += 50) {
    let now = start;
    const budget = new RetryBudget({ now: () => now });
    let retries = 0;
    for (let call = 0; call < 200; call += 1) {
      now += 5;
      budget.countCall();
      retries += budget.takeRetry() ? 1 : 0;
    }
    expect(retries).toBeLessThanOrEqual(20);
  }
});

test('forgets calls and retries after ten seconds, and those of a future that a clock set back has left', () => {
  let now = 25_300;
  const budget = new RetryBudget({ now: () => now });
  const taken = () => Array.from({ length: 50 }, () => budget.takeRetry()).filter(Boolean).length;
  for (let call = 0; call < 100; call += 1) {
    budget.countCall();
  }
  expect(taken()).toBe(10);
  now += 9_000;
  expect(taken()).toBe(0);
  now += 1_000;
  expect(taken()).toBe(3);
  now -= 60_000;
  expect(taken()).toBe(3);
});

test('backoff: full jitter over a growing bound, on top of the wait the provider asks for', () => {
  expect([0, 1, 2, 10].map((retry) => retryPauseMs(retry, undefined, () => 1))).toEqual([
    100, 200, 400, 2_000,
  ]);
  expect(retryPauseMs(3, undefined, () => 0)).toBe(0);
  expect(retryPauseMs(0, 1_000, () => 0.5)).toBe(1_050);
});
