import type { Hold, Ledger } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import type { InTurn } from '../lib/event-loop-queue.ts';
import type { Logger } from '../lib/logger.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { Alternatives } from './alternatives.ts';
import type { ModelRoute, SettledCall } from './invocation.types.ts';

/** The dependencies, state and callbacks of a running call. */
export interface LiveCallParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly hold: Hold;
  /** The models of the call. The hold names the first one. */
  readonly alternatives: Alternatives;
  /** Maximum the hold may grow to, in nano-USD. */
  readonly maxCost: NanoUsd | undefined;
  readonly streamed: boolean;
  /** Start time, in Unix ms. */
  readonly startedAt: number;
  /** Paths of request members that are not sent to any provider. */
  readonly ignored: readonly string[];
  /** Amount waived per account and hour for answers that providers break off or that nobody receives, in nano-USD. */
  readonly failureAllowance: NanoUsd;
  /** Counts a long answer, taking turns with other work. */
  readonly inTurn: InTurn;
  /** Called with the input tokens a provider reports, where they are credible. */
  readonly onReport: (route: ModelRoute, inputTokens: number) => void;
  /** Called with the actual usage and cost once the call is settled. */
  readonly onSettled: (settled: SettledCall) => void;
}
