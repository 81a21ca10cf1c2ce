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
  const uses: Use[] = [];
  let start = snapshot(granted, paid);
  for (const { contra, amount, is_before: isBefore } of movements) {
    const nano = BigInt(amount);
    if (contra !== 'revenue') {
      move(granted, paid, contra, nano);
    } else if (nano <= 0n) {
      use(granted, paid, uses, -nano);
    } else {
      giveBack(uses, nano);
    }
    if (isBefore) {
      start = snapshot(granted, paid);
    }
  }
  return { granted: since(start.granted, granted), paid: since(start.paid, paid) };
}

function move(granted: Credits, paid: Credits, contra: string, amount: bigint): void {
  if (contra === 'operator') {
    const taken = amount < 0n ? -least(granted.left, -amount) : amount;
    granted.add(taken);
    paid.add(amount - taken);
  } else {
    const taken = amount < 0n ? -least(paid.left, -amount) : amount;
    paid.add(taken);
    granted.add(amount - taken);
  }
}

/** Credits of one kind that were used in a row and not refunded since, in nano-USD. */
interface Use {
  readonly credits: Credits;
  amount: bigint;
}

function use(granted: Credits, paid: Credits, uses: Use[], amount: bigint): void {
  const first = least(granted.left, amount);
  for (const [credits, part] of [[granted, first] as const, [paid, amount - first] as const]) {
    const last = uses.at(-1);
    credits.use(part);
    if (last?.credits === credits) {
      last.amount += part;
    } else if (part > 0n) {
      uses.push({ credits, amount: part });
    }
  }
}

/** Returns what was used last. */
function giveBack(uses: Use[], amount: bigint): void {
  let left = amount;
  for (let last = uses.at(-1); left > 0n && last !== undefined; last = uses.at(-1)) {
    const part = least(last.amount, left);
    last.credits.use(-part);
    last.amount -= part;
    left -= part;
    if (last.amount === 0n) {
      uses.pop();
    }
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
