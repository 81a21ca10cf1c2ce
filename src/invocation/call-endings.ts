import type { GenerationStatus } from '../ledger/ledger.types.ts';
import type { AppError } from '../lib/errors.ts';
import type { FinishReason } from '../providers/provider.types.ts';
import type { Verdict } from './usage-judgement.ts';

/** Who pays for what a call used: nobody, its customer, or its customer beyond an allowance for what providers break. */
export type Payment = 'nothing' | 'usage' | 'usage beyond the allowance';

/**
 * The one table of what is free. Everything that can end a call stands in it, and docs/architecture/invocation.md shows the same
 * rows to customers and operators.
 */
export const CALL_ENDINGS = {
  /** Refused before a provider was asked. */
  refused: 'nothing',
  /** No provider gave a first byte of an answer: errors, timeouts, connections. */
  failed_before_first_byte: 'nothing',
  /** A whole answer, whatever member it stands in, also when its text is empty. */
  answered: 'usage',
  /** Ended by us: the money or the cap was used up. */
  cut: 'usage',
  /** Ended by one of our clocks after the first byte. */
  timed_out: 'usage',
  /** The client left, or was dropped because it did not read. */
  left: 'usage',
  /** Ended by us to stop the process. */
  shut_down: 'usage',
  /** The provider broke its answer off after the first byte, or reports usage for one that cannot be read; or our own code failed. */
  broken_off: 'usage beyond the allowance',
} as const satisfies Readonly<Record<string, Payment>>;

export type CallEnding = keyof typeof CALL_ENDINGS;

/** How a call ended, as it is to be written. */
export interface End {
  readonly ending: CallEnding;
  readonly status: GenerationStatus;
  readonly verdict: Verdict;
  readonly error?: AppError | null;
  /** Undefined: it failed. */
  readonly finishReason?: FinishReason | null;
}
