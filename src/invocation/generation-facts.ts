import type { Metering, ProviderAttempt } from '../ledger/ledger.types.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { TokenUsage } from '../lib/usage.ts';

/** What a generation keeps of how it was metered; undefined: nothing out of the ordinary. */
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

/** The attempts with what the last one, which answered, was billed to us, in nano-USD. */
export function withCost(
  attempts: readonly ProviderAttempt[],
  cost: NanoUsd | null,
): readonly ProviderAttempt[] {
  const last = attempts.at(-1);
  return last && cost !== null ? [...attempts.slice(0, -1), { ...last, cost: cost.toString() }] : attempts;
}
