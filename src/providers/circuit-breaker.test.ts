import { CircuitBreaker } from './circuit-breaker.ts';

class HandClock {
  ms = 1_000_000;
  now(): number {
    return this.ms;
  }
}

function opened(): { clock: HandClock; breaker: CircuitBreaker } {
  const clock = new HandClock();
  const breaker = new CircuitBreaker(clock);
  for (let call = 0; call < 20; call += 1) {
    call % 2 === 0 ? breaker.failure() : breaker.success();
  }
  breaker.failure();
  return { clock, breaker };
}

test('19 failures do not open it, half of 20 calls do', () => {
  const breaker = new CircuitBreaker(new HandClock());
  for (let call = 0; call < 19; call += 1) {
    breaker.failure();
  }
  expect(breaker.admits(false)).toBe(true);
  breaker.failure();
  expect(breaker.admits(false)).toBe(false);
  expect(opened().breaker.admits(false)).toBe(false);
});

test('failures of less than half the calls do not open it', () => {
  const breaker = new CircuitBreaker(new HandClock());
  for (let call = 0; call < 100; call += 1) {
    call % 5 < 2 ? breaker.failure() : breaker.success();
  }
  expect(breaker.admits(false)).toBe(true);
});

test('forgets calls older than the window', () => {
  const clock = new HandClock();
  const breaker = new CircuitBreaker(clock);
  for (let call = 0; call < 19; call += 1) {
    breaker.failure();
  }
  clock.ms += 10_001;
  breaker.failure();
  expect(breaker.admits(false)).toBe(true);
});

test('an open circuit lets one probe through; success closes it, failure keeps it open', () => {
  const { clock, breaker } = opened();
  clock.ms += 3_001;
  expect([breaker.admits(false), breaker.admits(false)]).toEqual([true, false]);
  breaker.failure();
  expect(breaker.admits(false)).toBe(false);
  clock.ms += 3_001;
  expect(breaker.admits(false)).toBe(true);
  breaker.success();
  expect([breaker.admits(false), breaker.admits(false)]).toEqual([true, true]);
});

test('honors a requested pause without counting it as a failure', () => {
  const clock = new HandClock();
  const breaker = new CircuitBreaker(clock);
  breaker.coolDown(2_000);
  expect([breaker.admits(false), breaker.cooling(), breaker.retryAfterMs()]).toEqual([false, true, 2_000]);
  clock.ms += 2_000;
  expect([breaker.admits(false), breaker.cooling(), breaker.retryAfterMs()]).toEqual([true, false, 0]);
});

test('without another route, one in ten calls is let through to a paused one; a success ends the pause', () => {
  const clock = new HandClock();
  const breaker = new CircuitBreaker(clock);
  breaker.success();
  breaker.coolDown(60_000);
  breaker.success();
  const admitted = Array.from({ length: 30 }, () => breaker.admits(true));
  expect(admitted.filter(Boolean)).toHaveLength(3);
  expect(admitted.slice(0, 9)).not.toContain(true);
  breaker.success();
  expect([breaker.admits(false), breaker.cooling()]).toEqual([true, false]);
});
