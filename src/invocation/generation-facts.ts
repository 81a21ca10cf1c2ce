import type { Metering, ProviderAttempt } from '../ledger/ledger.types.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { TokenUsage } from '../lib/usage.ts';

/** Returns the metering details to store with a generation, or undefined when nothing was out of the ordinary. */
export function meteringOf(
  ignored: readonly string[],
  reported: TokenUsage | undefined,
  counted: Partial<TokenUsage> | undefined,
): Metering | undefined {
  if (ignored.length === 0 && !reported) {
    return undefined;
  }
  return {
    ...(ignored.length > 0 && { ignored }),
    ...(reported && { reported }),
    ...(counted && { counted }),
  };
}

/** Adds what the provider billed us, in nano-USD, to the last attempt: the one that answered. */
export function withCost(
  attempts: readonly ProviderAttempt[],
  cost: NanoUsd | null,
): readonly ProviderAttempt[] {
  const last = attempts.at(-1);
  return last && cost !== null ? [...attempts.slice(0, -1), { cost: cost.toString(), ...last }] : attempts;
}
