import fc from 'fast-check';
import { decide, type PerScope, type RateState, rateHeaders, WINDOW_US } from './rate-policy.ts';

const FRESH: RateState = { requestsUs: 0, tokensUs: 0, inFlight: 0 };

const both = <T>(value: T) => ({ key: value, account: value });

describe('decide', () => {
  test('admits exactly the limit at once, and one more after its share of the minute', () => {
    const limits = both({ requestsPerMinute: 60, tokensPerMinute: 1, concurrency: 1 });
    let states: PerScope<RateState> = both(FRESH);
    for (let index = 0; index < 60; index += 1) {
      const decision = decide(states, limits, { tokens: 0, concurrent: false });
      expect(decision.refused).toBeNull();
      states = decision.states;
    }
    const refused = decide(states, limits, { tokens: 0, concurrent: false });
    expect([refused.refused, refused.waitUs]).toEqual(['requests', 1_000_000]);
    const later = both({ ...states.key, requestsUs: states.key.requestsUs - 1_000_000 });
    expect(decide(later, limits, { tokens: 0, concurrent: false }).refused).toBeNull();
  });

  test('a rejected call changes nothing, whichever dimension of the key or of its account is exhausted', () => {
    const usage = fc.record({
      requestsUs: fc.integer({ min: 0, max: WINDOW_US }),
      tokensUs: fc.integer({ min: 0, max: 2 * WINDOW_US }),
      inFlight: fc.integer({ min: 0, max: 5 }),
    });
    fc.assert(
      fc.property(usage, usage, fc.integer({ min: 0, max: 2000 }), (key, account, tokens) => {
        const limits = both({ requestsPerMinute: 7, tokensPerMinute: 1000, concurrency: 3 });
        const states = { key, account };
        const decision = decide(states, limits, { tokens, concurrent: true });
        if (decision.refused !== null) {
          expect(decision.states).toEqual(states);
          expect(decision.waitUs).toBeGreaterThan(0);
        } else {
          for (const scope of ['key', 'account'] as const) {
            expect(decision.states[scope].requestsUs).toBeLessThanOrEqual(WINDOW_US);
            expect(decision.states[scope].inFlight).toBe(states[scope].inFlight + 1);
          }
        }
      }),
    );
  });
});

test('headers never promise more than is left', () => {
  const limits = { requestsPerMinute: 600, tokensPerMinute: 1000, concurrency: 1 };
  expect(rateHeaders(both(FRESH), both(limits))).toMatchObject({
    'x-ratelimit-remaining-requests': '600',
    'x-ratelimit-reset-requests': '0ms',
  });
  const used = { requestsUs: 100_000 * 1.5, tokensUs: 90_000_000, inFlight: 0 };
  expect(rateHeaders({ key: FRESH, account: used }, both(limits))).toMatchObject({
    'x-ratelimit-remaining-requests': '598',
    'x-ratelimit-reset-requests': '150ms',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '1m30s',
  });
});
