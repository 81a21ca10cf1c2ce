import fc from 'fast-check';

/** How time passes before a deed: mostly forward, to the end of a month and past it, and backward as after a bad clock. */
export type Passing =
  | { readonly pass: 'minutes' | 'days'; readonly count: number }
  | { readonly pass: 'to the end of the month' | 'into the next month' }
  | { readonly pass: 'back'; readonly seconds: number };

/** One thing a business does. Indexes pick among what exists at that time. */
export interface Deed {
  readonly passing: Passing;
  readonly account: number;
  readonly act:
    | 'buy'
    | 'grant'
    | 'take'
    | 'begin a call'
    | 'end a call'
    | 'refund'
    | 'reverse'
    | 'win a dispute'
    | 'forgive'
    | 'be paid by bank'
    | 'close'
    | 'sum days';
  readonly amount: bigint;
  readonly pick: number;
}

export interface Business {
  readonly start: string;
  readonly deeds: readonly Deed[];
}

const passing: fc.Arbitrary<Passing> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ pass: fc.constant('minutes' as const), count: fc.nat(600) }) },
  {
    weight: 2,
    arbitrary: fc.record({ pass: fc.constant('days' as const), count: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 2, arbitrary: fc.record({ pass: fc.constant('to the end of the month' as const) }) },
  { weight: 2, arbitrary: fc.record({ pass: fc.constant('into the next month' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ pass: fc.constant('back' as const), seconds: fc.integer({ min: 1, max: 7_200 }) }),
  },
);

const act = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('buy' as const, 'begin a call' as const, 'end a call' as const) },
  { weight: 2, arbitrary: fc.constantFrom('close' as const, 'reverse' as const, 'refund' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...(['grant', 'take', 'win a dispute', 'forgive', 'be paid by bank', 'sum days'] as const),
    ),
  },
);

/** Leap day, the ends of short months and of a year, and the night the clocks go forward in America. */
const STARTS = [
  '2024-02-28T23:30:00Z',
  '2023-12-31T23:58:00Z',
  '2023-01-30T22:00:00Z',
  '2024-03-10T06:55:00Z',
];

const deed: fc.Arbitrary<Deed> = fc.record({
  passing,
  account: fc.nat(1),
  act,
  amount: fc.bigInt({ min: 1n, max: 9_000_000_000n }),
  pick: fc.nat(30),
});

/** Closes a month as soon as it is over, then steps the clock back into it and goes on. */
const closeAndStepBack: fc.Arbitrary<Deed[]> = fc
  .tuple(deed, deed, fc.integer({ min: 6, max: 60 }))
  .map(([close, next, seconds]) => [
    { ...close, passing: { pass: 'into the next month' }, act: 'close' },
    { ...next, passing: { pass: 'back', seconds } },
  ]);

export const business: fc.Arbitrary<Business> = fc.record({
  start: fc.constantFrom(...STARTS),
  deeds: fc
    .array(
      fc.oneof(
        { weight: 5, arbitrary: deed.map((one) => [one]) },
        { weight: 1, arbitrary: closeAndStepBack },
      ),
      { minLength: 25, maxLength: 45 },
    )
    .map((parts) => parts.flat()),
});
