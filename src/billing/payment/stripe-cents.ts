import { type NanoUsd, nanoUsd } from '../../lib/money.ts';

export const NANO_PER_CENT = 10_000_000n;

/** Returns an amount in Stripe's smallest unit of US dollars as nano-USD. */
export function fromCents(cents: number): NanoUsd {
  return nanoUsd(BigInt(cents) * NANO_PER_CENT);
}
