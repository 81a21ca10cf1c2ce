import { type NanoUsd, nanoUsd } from '../../lib/money.ts';

/** A movement of an account's credits, or the sum of consecutive charges; the amount is nano-USD as decimal text. */
export interface CreditMovement {
  readonly contra: string;
  readonly amount: string;
  /** Whether it happened before the reported period. */
  readonly is_before: boolean;
}

/** Movements of one kind of credits in a period: opening + added − used = closing, in nano-USD. */
export interface KindOfCredits {
  readonly opening: NanoUsd;
  /** Bought or granted, less what was taken back. */
  readonly added: NanoUsd;
  readonly used: NanoUsd;
  readonly closing: NanoUsd;
}

class Credits {
  left = 0n;
  used = 0n;
  added = 0n;

  add(amount: bigint): void {
    this.left += amount;
    this.added += amount;
  }

  use(amount: bigint): void {
    this.left -= amount;
    this.used += amount;
  }
}

/**
 * Splits an account's credits into granted and paid ones. The policy: granted credits are used before paid ones, each kind is
 * used first in, first out, and refunded usage returns the credits used last. Money that moved outside, resulting debts and
 * forgiven debts count as paid credits. What an operator gives or takes counts as granted, as far as there are granted credits to
 * take.
 */
export function splitCredits(movements: readonly CreditMovement[]): {
  readonly granted: KindOfCredits;
  readonly paid: KindOfCredits;
} {
  const granted = new Credits();
  const paid = new Credits();
  let start = snapshot(granted, paid);
  for (const { contra, amount, is_before: isBefore } of movements) {
    move(granted, paid, contra, BigInt(amount));
    if (isBefore) {
      start = snapshot(granted, paid);
    }
  }
  return { granted: since(start.granted, granted), paid: since(start.paid, paid) };
}

function move(granted: Credits, paid: Credits, contra: string, amount: bigint): void {
  if (contra === 'revenue') {
    use(granted, paid, -amount);
  } else if (contra === 'operator') {
    const taken = amount < 0n ? -least(granted.left, -amount) : amount;
    granted.add(taken);
    paid.add(amount - taken);
  } else {
    const taken = amount < 0n ? -least(paid.left, -amount) : amount;
    paid.add(taken);
    granted.add(amount - taken);
  }
}

/** Uses an amount, or returns it when it is negative. */
function use(granted: Credits, paid: Credits, amount: bigint): void {
  if (amount >= 0n) {
    const first = least(granted.left, amount);
    granted.use(first);
    paid.use(amount - first);
  } else {
    const last = least(paid.used, -amount);
    paid.use(-last);
    granted.use(amount + last);
  }
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function snapshot(granted: Credits, paid: Credits) {
  return { granted: { ...granted }, paid: { ...paid } };
}

function since(start: Readonly<Record<'left' | 'used' | 'added', bigint>>, end: Credits): KindOfCredits {
  return {
    opening: nanoUsd(start.left),
    added: nanoUsd(end.added - start.added),
    used: nanoUsd(end.used - start.used),
    closing: nanoUsd(end.left),
  };
}
