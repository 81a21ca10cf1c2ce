import { knownOf, sumOf } from './margin.ts';

const row = {
  ...{ month: '2028-01', period_start: '2028-01-01T00:00:00.000Z' },
  ...{ model: null, endpoint: null, provider: null, account_id: null },
  ...{ calls: 1, failed_calls: 0, calls_without_cost: 0, charged_without_cost: '0.00' },
  ...{
    charged: '10.00',
    refunded: '0.00',
    refunded_without_cost: '0.00',
    provider_cost: '2.00',
    margin: '8.00',
  },
};
const withoutCost = { ...row, calls_without_cost: 1, charged_without_cost: '10.00', provider_cost: '0.00' };

test('refunds of calls without a known cost do not lower the margin of those with one', () => {
  const refunded = { ...withoutCost, refunded: '10.00', refunded_without_cost: '10.00', margin: '0.00' };
  expect(knownOf(sumOf([row, refunded]))).toEqual({
    charged: 10_000_000_000n,
    cost: 2_000_000_000n,
    margin: 8_000_000_000n,
  });
});

test('refunds of calls with a known cost lower it', () => {
  const refunded = { ...row, refunded: '4.00', margin: '4.00' };
  expect(knownOf(sumOf([refunded, { ...withoutCost, margin: '10.00' }])).margin).toBe(4_000_000_000n);
});
