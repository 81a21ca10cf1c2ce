import { gateRows, judge } from '../../bench/gate/figures.ts';

const COMMITTED = { statements: 2, walBytes: 4_000, processorRatio: 5 };

function verdicts(measured: Record<string, number>, isShort: boolean): Record<string, string> {
  const judged = judge(measured, COMMITTED, isShort);
  return Object.fromEntries(judged.map(({ name, verdict }) => [name, verdict]));
}

test('passes up to a tenth more and any decrease, and fails beyond that', () => {
  const of = (statements: number) => verdicts({ statements }, true).statements;
  expect([of(1), of(2.2), of(2.201)]).toEqual(['passed', 'passed', 'failed']);
});

test('allows more WAL in the short form', () => {
  const of = (isShort: boolean) => verdicts({ walBytes: 4_600 }, isShort).walBytes;
  expect([of(true), of(false)]).toEqual(['passed', 'failed']);
});

test('fails on processor time in the full form only', () => {
  expect(verdicts({ processorRatio: 9 }, true)).toEqual({ processorRatio: 'told' });
  expect(verdicts({ processorRatio: 9 }, false)).toEqual({ processorRatio: 'failed' });
});

test('only reports figures without a bound, and cannot fail those without a committed figure', () => {
  expect(verdicts({ crowdWalBytes: 9_000, allocatedBytes: 1 }, false)).toEqual({
    allocatedBytes: 'no figure to compare with',
    crowdWalBytes: 'told',
  });
});

test('shows in the table what changed and by how much it may change', () => {
  expect(gateRows(judge({ walBytes: 4_200 }, COMMITTED, false)).slice(1)).toEqual([
    ['WAL bytes, one call at a time', '4,000', '4,200', '+5.0 %', '+10.0 %', 'passed'],
  ]);
});
