import fc from 'fast-check';

/** One thing a customer, an operator, a payment provider or time can do. Indexes pick among what exists at that time. */
export type LedgerCommand =
  | { readonly do: 'nothing' }
  | { readonly do: 'reserve'; readonly key: number; readonly amount: bigint; readonly minimum: bigint }
  | { readonly do: 'reserve again'; readonly hold: number }
  | { readonly do: 'settle'; readonly hold: number; readonly permille: number; readonly times: number }
  | { readonly do: 'release'; readonly hold: number }
  | { readonly do: 'extend'; readonly hold: number; readonly amount: bigint }
  | { readonly do: 'meter'; readonly hold: number; readonly permille: number }
  | { readonly do: 'lose the process' }
  | { readonly do: 'purchase'; readonly amount: bigint; readonly times: number }
  | { readonly do: 'adjust'; readonly amount: bigint }
  | { readonly do: 'clear debt'; readonly amount: bigint; readonly kind: 'forgiven' | 'paid' }
  | { readonly do: 'refund'; readonly charge: number; readonly amount: bigint; readonly times: number }
  | { readonly do: 'reverse'; readonly purchase: number; readonly amount: bigint; readonly times: number }
  | { readonly do: 'reinstate'; readonly purchase: number; readonly amount: bigint; readonly times: number }
  | { readonly do: 'limit'; readonly key: number; readonly limit: bigint | null }
  | { readonly do: 'disable'; readonly key: number; readonly disabled: boolean }
  | { readonly do: 'suspend'; readonly suspended: boolean }
  | { readonly do: 'pass time'; readonly days: number }
  | { readonly do: 'close months' }
  | { readonly do: 'roll up days' };

const index = fc.nat({ max: 30 });
const amount = fc.bigInt({ min: 1n, max: 1_000n });
const permille = fc.integer({ min: 0, max: 1_000 });
/** Share of a hold to settle: a call may cost more than was held for it. */
const share = fc.oneof(
  { weight: 3, arbitrary: permille },
  { weight: 1, arbitrary: fc.integer({ min: 1_001, max: 4_000 }) },
);
const times = fc.integer({ min: 1, max: 3 });

const command: fc.Arbitrary<LedgerCommand> = fc.oneof(
  // first, so that a failing story shrinks by turning commands into nothing
  { withCrossShrink: true },
  { weight: 1, arbitrary: fc.constant<LedgerCommand>({ do: 'nothing' }) },
  {
    weight: 8,
    arbitrary: fc.tuple(fc.nat({ max: 1 }), amount, amount).map(([key, one, other]) => ({
      do: 'reserve' as const,
      key,
      amount: one > other ? one : other,
      minimum: one > other ? other : one,
    })),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reserve again' as const), hold: index }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('settle' as const), hold: index, permille: share, times }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), hold: index }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('extend' as const), hold: index, amount }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('meter' as const), hold: index, permille }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose the process' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('purchase' as const),
      amount: fc.bigInt({ min: 1n, max: 5_000n }),
      times,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('adjust' as const),
      amount: fc.bigInt({ min: -500n, max: 500n }).filter((value) => value !== 0n),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('clear debt' as const),
      amount,
      kind: fc.constantFrom('forgiven' as const, 'paid' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund' as const), charge: index, amount, times }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('reverse' as const),
      purchase: index,
      amount: fc.bigInt({ min: 1n, max: 5_000n }),
      times,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('reinstate' as const), purchase: index, amount, times }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('limit' as const),
      key: fc.nat({ max: 1 }),
      limit: fc.option(fc.bigInt({ min: 0n, max: 5_000n })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('disable' as const),
      key: fc.nat({ max: 1 }),
      disabled: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('suspend' as const), suspended: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pass time' as const), days: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close months' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('roll up days' as const) }) },
);

/** A story of 50 commands. */
export const ledgerStory: fc.Arbitrary<LedgerCommand[]> = fc.array(command, {
  minLength: 1,
  maxLength: 50,
  size: 'max',
});
