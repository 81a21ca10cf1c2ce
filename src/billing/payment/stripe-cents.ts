import { invariant } from '../../lib/errors.ts';
import { type NanoUsd, nanoUsd } from '../../lib/money.ts';

const NANO_PER_CENT = 10_000_000n;

/** Returns an amount in Stripe's smallest unit of US dollars as nano-USD. */
export function fromCents(cents: number): NanoUsd {
  return nanoUsd(BigInt(cents) * NANO_PER_CENT);
}

/** Returns an amount in nano-USD in Stripe's smallest unit. Throws InvariantError for parts of a cent. */
export function toCents(amount: NanoUsd): number {
  invariant(amount % NANO_PER_CENT === 0n, 'a payment is made of whole cents');
  return Number(amount / NANO_PER_CENT);
}
