import type { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';

/** Seals what was booked so far, so that maintenance, which seals each minute, has none of it to do while something is measured. */
export async function sealAll(verifier: LedgerVerifier): Promise<void> {
  for (let sealed = 1; sealed > 0; ) {
    sealed = await verifier.seal();
  }
}
