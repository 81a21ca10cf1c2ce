import { percentile } from '../../bench/measure/clients.ts';

/**
 * The outcome of a call as the client saw it. `answered`: the complete answer, with the charge that follows from its usage; `refused`: an
 * error, so nothing may be charged; `broken`: nothing certain, or only part of an answer.
 */
export interface CallOutcome {
  readonly requestId: string;
  /** Index of its account among the calling accounts. */
  readonly account: number;
  readonly outcome: 'answered' | 'refused' | 'broken';
  /** Charge in nano-USD, computed from the usage in the answer; the maximum when nothing certain is known. */
  readonly charge: bigint;
  /** HTTP status; 0 without one. */
  readonly status: number;
  /** Error code of the answer, or of the connection. */
  readonly code: string;
  /** The error's message, if the API sent one. */
  readonly message?: string;
  readonly hasRetryAfter: boolean;
  /** Whether this is the stored answer of an earlier call with the same Idempotency-Key: that call was charged, not this one. */
  readonly isReplay: boolean;
  readonly streamed: boolean;
  /** Duration since the call was due, in ms. */
  readonly durationMs: number;
  /** End time, in Unix ms. */
  readonly endedAt: number;
}

/** Whether the API rejected the call because it was overloaded. */
export function isShed({ outcome, message = '' }: CallOutcome): boolean {
  return outcome === 'refused' && message.includes('overloaded');
}

/** The load client's own record, which the auditor compares with the books. */
export class OutcomeLog {
  readonly calls: CallOutcome[] = [];

  add(told: CallOutcome): void {
    this.calls.push(told);
  }

  count(isWanted: (told: CallOutcome) => boolean): number {
    return this.calls.reduce((sum, told) => sum + (isWanted(told) ? 1 : 0), 0);
  }

  get answered(): number {
    return this.count(({ outcome }) => outcome === 'answered');
  }

  /** Share of answered calls, 0–1; 1 without calls. */
  get successShare(): number {
    return this.calls.length === 0 ? 1 : this.answered / this.calls.length;
  }

  /** Counts the calls that were not answered, by reason, e.g. `503 service_unavailable: …`. */
  get troubles(): Record<string, number> {
    return this.troublesFrom(0);
  }

  /** {@link troubles} of the calls after the first `place` ones. */
  troublesFrom(place: number): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { outcome, status, code, message } of this.calls.slice(place)) {
      if (outcome !== 'answered') {
        const name = `${status} ${code}${message === undefined ? '' : `: ${message}`}`;
        counts[name] = (counts[name] ?? 0) + 1;
      }
    }
    return counts;
  }

  /** Returns the latency in ms that `share` (0–1) of the answered calls stayed below. */
  latencyMs(share: number, isWanted: (told: CallOutcome) => boolean = () => true): number {
    const sorted = this.calls
      .filter((told) => told.outcome === 'answered' && isWanted(told))
      .map(({ durationMs }) => durationMs)
      .sort((one, other) => one - other);
    return percentile(sorted, share);
  }
}
