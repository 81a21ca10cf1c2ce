import { ProviderFailure } from './provider-failure.ts';
import { RouteHealth } from './route-health.ts';

class HandClock {
  ms = 1_000_000;
  now(): number {
    return this.ms;
  }
}

let clock: HandClock;
let route: RouteHealth;

beforeEach(() => {
  clock = new HandClock();
  route = new RouteHealth(clock);
});

const FAILED = new ProviderFailure('failed', { status: 500 });
const LIMITED = new ProviderFailure('rate_limited', { retryAfterMs: 60_000 });
const UNSENT = new ProviderFailure('unreachable', { unsent: true });

function fails(accountId: string, failure: ProviderFailure, calls: number): void {
  for (let call = 0; call < calls; call += 1) {
    route.failure(accountId, failure);
  }
}

const refused = (accountId: string) => route.refusal(accountId, false)?.reason;

test.each<[string, ProviderFailure, string]>([
  ['failures', FAILED, 'circuit_open'],
  ['rate limits', LIMITED, 'rate_limited'],
])("one account's %s rest that account, not the route", (_, failure, reason) => {
  fails('a', failure, 500);
  expect([refused('a'), refused('b')]).toEqual([reason, undefined]);
});

test('two accounts are not several', () => {
  fails('a', FAILED, 500);
  fails('b', FAILED, 500);
  fails('a', LIMITED, 1);
  fails('b', LIMITED, 1);
  expect(refused('c')).toBeUndefined();
});

test('what several accounts meet rests the route for all', () => {
  fails('a', FAILED, 7);
  fails('b', FAILED, 7);
  fails('c', FAILED, 5);
  expect(refused('d')).toBeUndefined();
  fails('c', FAILED, 1);
  expect(refused('d')).toBe('circuit_open');
});

test('three that fail among many that are served are theirs to bear', () => {
  for (let account = 0; account < 10; account += 1) {
    route.success(`served-${account}`);
  }
  for (const account of ['a', 'b', 'c']) {
    fails(account, FAILED, 100);
  }
  expect([refused('a'), refused('d')]).toEqual(['circuit_open', undefined]);
});

test('a pause that three accounts were asked for is kept for all', () => {
  fails('a', LIMITED, 1);
  fails('b', LIMITED, 1);
  expect(refused('d')).toBeUndefined();
  fails('c', LIMITED, 1);
  expect(refused('d')).toBe('rate_limited');
});

test('requests that never left rest the route, whoever sent them', () => {
  fails('a', UNSENT, 20);
  expect(refused('b')).toBe('circuit_open');
});

test('the probe of a route that rests is not left to the account that failed last', () => {
  fails('a', UNSENT, 20);
  route.failure('a', FAILED);
  for (let round = 0; round < 50; round += 1) {
    clock.ms += 3_001;
    // first in every round is the account that makes it fail
    expect(refused('a')).toBe('circuit_open');
    expect(refused('b')).toBeUndefined();
    route.failure('b', UNSENT);
    clock.ms += 3_001;
    expect(refused('b')).toBe('circuit_open');
    expect(refused('c')).toBeUndefined();
    route.failure('a', FAILED);
  }
  clock.ms += 3_001;
  expect(refused('b')).toBeUndefined();
  route.success('b');
  expect([refused('a'), refused('c')]).toEqual([undefined, undefined]);
});

test("an account's circuit that opens asks for a probe, once; one that fails rests the route", () => {
  const asked = Array.from({ length: 25 }, () => route.failure('a', FAILED));
  expect(asked.flatMap((yes, index) => (yes ? [index] : []))).toEqual([19]);
  expect(refused('b')).toBeUndefined();
  route.probeFailed();
  expect(refused('b')).toBe('circuit_open');
});
