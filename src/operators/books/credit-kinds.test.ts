import fc from 'fast-check';
import { type CreditMovement, splitCredits } from './credit-kinds.ts';

const moved = (contra: string, amount: number, isBefore = false): CreditMovement => ({
  contra,
  amount: String(amount),
  is_before: isBefore,
});

test('granted credits are used before paid ones', () => {
  const { granted, paid } = splitCredits([
    moved('operator', 5, true),
    moved('cash_clearing', 20, true),
    moved('revenue', -12),
  ]);
  expect(granted).toEqual({ opening: 5n, added: 0n, used: 5n, closing: 0n });
  expect(paid).toEqual({ opening: 20n, added: 0n, used: 7n, closing: 13n });
});

test('a refund returns the credits used last: paid credits first', () => {
  const { granted, paid } = splitCredits([
    moved('operator', 5),
    moved('cash_clearing', 20),
    moved('revenue', -8),
    moved('revenue', 4),
  ]);
  expect([granted.used, paid.used]).toEqual([4n, 0n]);
  expect([granted.closing, paid.closing]).toEqual([1n, 20n]);
});

test('a refund returns credits granted since if those were used last', () => {
  const { granted, paid } = splitCredits([
    moved('cash_clearing', 20),
    moved('revenue', -8),
    moved('operator', 5),
    moved('revenue', -3),
    moved('revenue', 4),
  ]);
  expect([granted.used, paid.used]).toEqual([0n, 7n]);
  expect([granted.closing, paid.closing]).toEqual([5n, 13n]);
});

test('a reversal that the balance cannot cover removes the whole payment', () => {
  const { paid } = splitCredits([
    moved('cash_clearing', 20),
    moved('revenue', -12),
    moved('receivable', 12),
    moved('cash_clearing', -20),
  ]);
  expect(paid).toEqual({ opening: 0n, added: 12n, used: 12n, closing: 0n });
});

test('no kind ever falls below zero, and the kinds add up to the balance', () => {
  const step = fc.tuple(
    fc.constantFrom('operator', 'cash_clearing', 'revenue', 'receivable', 'write_off'),
    fc.integer({ min: -50, max: 50 }),
    fc.boolean(),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      let balance = 0;
      let spent = 0;
      const movements: CreditMovement[] = [];
      for (const [contra, wanted] of steps) {
        // what the ledger allows: no negative balance, no refund beyond the usage
        const most = contra === 'revenue' ? Math.min(wanted, spent) : wanted;
        const amount = Math.max(most, -balance);
        balance += amount;
        spent -= contra === 'revenue' ? amount : 0;
        movements.push(moved(contra, amount, movements.length < steps.length / 2));
      }
      const { granted, paid } = splitCredits(movements);
      for (const { opening, added, used, closing } of [granted, paid]) {
        expect(opening + added - used).toBe(closing);
        expect(closing >= 0n).toBe(true);
      }
      expect(granted.closing + paid.closing).toBe(BigInt(balance));
    }),
  );
});
