import type { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';

/** Seals everything booked so far, so that maintenance, which seals each minute, has none of it to seal during a measurement. */
export async function sealAll(verifier: LedgerVerifier): Promise<void> {
  for (let sealed = 1; sealed > 0; ) {
    sealed = await verifier.seal();
  }
}
