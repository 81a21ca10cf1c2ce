import type { GenerationStatus } from '../ledger/ledger.types.ts';
import type { FinishReason } from '../providers/provider.types.ts';
import type { Judgment } from './usage-judgment.ts';

/** Who pays for what a call used: nobody, the customer, or the customer beyond an allowance for failures of providers. */
type Payment = 'nothing' | 'usage' | 'usage beyond the allowance';

/**
 * The single table of what is free. It lists everything that can end a call; docs/architecture/invocation.md shows the same rows to
 * customers and operators.
 */
export const CALL_ENDINGS = {
  /** Rejected before a provider was asked. */
  refused: 'nothing',
  /** No provider sent the first byte of an answer: errors, timeouts, connection failures. */
  failed_before_first_byte: 'nothing',
  /** A complete answer in whichever field, even when its text is empty. */
  answered: 'usage',
  /** We cut the answer off: the money or the output cap was used up. */
  cut: 'usage',
  /** One of our timeouts ended the answer after the first byte. */
  timed_out: 'usage',
  /** The client disconnected, or we dropped it because it did not read. */
  left: 'usage',
  /** The client disconnected before anything was delivered, and the provider stopped. */
  left_with_nothing: 'usage beyond the allowance',
  /** We ended the answer to shut down the process. */
  shut_down: 'usage',
  /** The provider broke off after the first byte, or reported usage for an answer that cannot be read, or our own code failed. */
  broken_off: 'usage beyond the allowance',
} as const satisfies Readonly<Record<string, Payment>>;

export type CallEnding = keyof typeof CALL_ENDINGS;

/** Why a generation has no complete answer, as stored in its row. */
export interface EndError {
  readonly code: string;
  readonly message: string;
}

export const CLIENT_CLOSED: EndError = {
  code: 'client_closed',
  message: 'the client closed the connection before the answer was complete',
};

/** The ending of a call, as it will be recorded. */
export interface End {
  readonly ending: CallEnding;
  readonly status: GenerationStatus;
  readonly verdict: Judgment;
  readonly error?: EndError | null;
  /** Undefined when the call failed. */
  readonly finishReason?: FinishReason | null;
}
