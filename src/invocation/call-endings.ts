import type { GenerationStatus } from '../ledger/ledger.types.ts';
import type { FinishReason } from '../providers/provider.types.ts';
import type { Judgement } from './usage-judgement.ts';

/** Who pays for what a call used: nobody, its customer, or its customer beyond an allowance for what providers break. */
type Payment = 'nothing' | 'usage' | 'usage beyond the allowance';

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
  /** The client left before anything was delivered, and the provider stopped. */
  left_with_nothing: 'usage beyond the allowance',
  /** Ended by us to stop the process. */
  shut_down: 'usage',
  /** The provider broke its answer off after the first byte, or reports usage for one that cannot be read; or our own code failed. */
  broken_off: 'usage beyond the allowance',
} as const satisfies Readonly<Record<string, Payment>>;

export type CallEnding = keyof typeof CALL_ENDINGS;

/** Why a generation has no whole answer, as its row says. */
export interface EndError {
  readonly code: string;
  readonly message: string;
}

export const CLIENT_CLOSED: EndError = {
  code: 'client_closed',
  message: 'the client closed the connection before the answer was complete',
};

/** How a call ended, as it is to be written. */
export interface End {
  readonly ending: CallEnding;
  readonly status: GenerationStatus;
  readonly verdict: Judgement;
  readonly error?: EndError | null;
  /** Undefined: it failed. */
  readonly finishReason?: FinishReason | null;
}
