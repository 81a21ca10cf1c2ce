/** A scenario of the list that other tests cover, with its required figure. */
export interface CoveredScenario {
  readonly id: string;
  readonly fault: string;
  readonly asked: string;
  readonly by: readonly { readonly file: string; readonly title: string }[];
}

export const COVERED: readonly CoveredScenario[] = [
  {
    id: 'A4',
    fault: 'settlements sent twice, jobs run again, workers that wake up after their lease',
    asked: '0 duplicate charges',
    by: [
      { file: 'test/ledger/holds.test.ts', title: 'settling twice charges once' },
      { file: 'test/ledger/holds.test.ts', title: 'two settlements of one hold in one batch charge once' },
      {
        file: 'test/jobs/fence.test.ts',
        title: 'answers closed and charges nothing more when an ending is sent again',
      },
      { file: 'test/jobs/processes.test.ts', title: 'stopped for three leases and woken' },
    ],
  },
  {
    id: 'C4',
    fault: 'fallback to a more expensive provider; an upstream that reports absurd usage',
    asked: 'charge ≤ hold; shortfall recorded',
    by: [
      { file: 'test/invocation/faults.test.ts', title: 'falls back inside one hold' },
      {
        file: 'test/invocation/faults.test.ts',
        title: 'absurd usage is cut to what is possible, and never above',
      },
    ],
  },
  {
    id: 'D2',
    fault:
      'upstreams that hang, break off, send garbage, errors in a 200, no usage, a byte at a time, a storm of 429',
    asked: 'the documented status for each',
    by: [
      { file: 'test/invocation/faults.test.ts', title: '%s → %i %s after %i calls' },
      { file: 'test/invocation/faults.test.ts', title: 'one byte at a time is slow but fine' },
      {
        file: 'test/invocation/faults.test.ts',
        title: 'a storm of 429 is met with at most a tenth more calls',
      },
    ],
  },
  {
    id: 'E1',
    fault: 'every payment event 1 to 5 times, shuffled, with forged ones between',
    asked: '1 credit per paid session; 0 for forged',
    by: [
      {
        file: 'test/api/stripe.test.ts',
        title: 'every event 1 to 5 times, shuffled, with forged ones between: one credit per paid session',
      },
    ],
  },
];
