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
])("one account's %s pause that account, not the route", (_, failure, reason) => {
  fails('a', failure, 500);
  expect([refused('a'), refused('b')]).toEqual([reason, undefined]);
});

test('failures of two accounts do not pause the route', () => {
  fails('a', FAILED, 500);
  fails('b', FAILED, 500);
  fails('a', LIMITED, 1);
  fails('b', LIMITED, 1);
  expect(refused('c')).toBeUndefined();
});

test('failures of several accounts pause the route for all', () => {
  fails('a', FAILED, 7);
  fails('b', FAILED, 7);
  fails('c', FAILED, 5);
  expect(refused('d')).toBeUndefined();
  fails('c', FAILED, 1);
  expect(refused('d')).toBe('circuit_open');
});

test('three failing accounts among many that succeed do not pause the route', () => {
  for (let account = 0; account < 10; account += 1) {
    route.success(`served-${account}`);
  }
  for (const account of ['a', 'b', 'c']) {
    fails(account, FAILED, 100);
  }
  expect([refused('a'), refused('d')]).toEqual(['circuit_open', undefined]);
});

test('a pause requested from three accounts applies to all', () => {
  fails('a', LIMITED, 1);
  fails('b', LIMITED, 1);
  expect(refused('d')).toBeUndefined();
  fails('c', LIMITED, 1);
  expect(refused('d')).toBe('rate_limited');
});

test('requests that could not be sent pause the route, whichever account sent them', () => {
  fails('a', UNSENT, 20);
  expect(refused('b')).toBe('circuit_open');
});

test('the account that failed last does not get the probe of a paused route', () => {
  fails('a', UNSENT, 20);
  route.failure('a', FAILED);
  for (let round = 0; round < 50; round += 1) {
    clock.ms += 3_001;
    // the account that causes the failures comes first in every round
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

test("asks for a probe once when an account's circuit opens; a failed probe pauses the route", () => {
  const asked = Array.from({ length: 25 }, () => route.failure('a', FAILED));
  expect(asked.flatMap((yes, index) => (yes ? [index] : []))).toEqual([19]);
  expect(refused('b')).toBeUndefined();
  route.probeFailed();
  expect(refused('b')).toBe('circuit_open');
});
