import type { Hold, Ledger } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import type { Logger } from '../lib/logger.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { Alternatives } from './alternatives.ts';
import type { ModelRoute, SettledCall } from './invocation.types.ts';

/** What a call under way works with and whom it tells. */
export interface LiveCallParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hold: Hold;
  /** The first is the one that the hold names. */
  readonly alternatives: Alternatives;
  /** The hold never grows beyond this, in nano-USD. */
  readonly maxCost: NanoUsd | undefined;
  readonly streamed: boolean;
  /** Unix ms. */
  readonly startedAt: number;
  /** Paths of members of the request that no provider is sent. */
  readonly ignored: readonly string[];
  /** What an account is waived in an hour of answers that providers break off or nobody gets, in nano-USD. */
  readonly failureAllowance: NanoUsd;
  /** Counts a long answer in turns with other work. */
  readonly inTurn: InTurn;
  /** Told what a provider reports of the input, in tokens, where that can be true. */
  readonly onReport: (route: ModelRoute, inputTokens: number) => void;
  /** Told what the call really used and cost, once it is settled. */
  readonly onSettled: (settled: SettledCall) => void;
}
