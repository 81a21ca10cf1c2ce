import { percentile } from '../../bench/measure/clients.ts';

/**
 * What a client was told of one call. `answered`: the whole answer, with the charge its usage makes; `refused`: an error, so
 * nothing may be charged; `broken`: it was told nothing certain, or only a part.
 */
export interface Told {
  readonly requestId: string;
  /** Its account's place among those that call. */
  readonly account: number;
  readonly outcome: 'answered' | 'refused' | 'broken';
  /** nano-USD, worked out from the usage in the answer; the most it may be where nothing certain is known. */
  readonly charge: bigint;
  /** HTTP status; 0 without one. */
  readonly status: number;
  /** Error code of the answer, or of the connection. */
  readonly code: string;
  /** The error's message, where the API gave one. */
  readonly message?: string;
  readonly hasRetryAfter: boolean;
  /** The stored answer of an earlier call under the same Idempotency-Key: that call was charged, not this one. */
  readonly isReplay: boolean;
  readonly streamed: boolean;
  /** From when the call was due, in ms. */
  readonly durationMs: number;
  /** When it ended, in Unix ms. */
  readonly endedAt: number;
}

/** Whether the API had more work than the machine can do, and said so. */
export function isShed({ outcome, message = '' }: Told): boolean {
  return outcome === 'refused' && message.includes('overloaded');
}

/** The load client's own record: the auditor holds the books against it. */
export class ToldLog {
  readonly calls: Told[] = [];

  add(told: Told): void {
    this.calls.push(told);
  }

  count(isWanted: (told: Told) => boolean): number {
    return this.calls.reduce((sum, told) => sum + (isWanted(told) ? 1 : 0), 0);
  }

  get answered(): number {
    return this.count(({ outcome }) => outcome === 'answered');
  }

  /** Share of answered calls, 0–1; 1 without calls. */
  get successShare(): number {
    return this.calls.length === 0 ? 1 : this.answered / this.calls.length;
  }

  /** How often each way of not being answered came up, e.g. `503 service_unavailable: …`. */
  get troubles(): Record<string, number> {
    return this.troublesFrom(0);
  }

  /** {@link troubles} of the calls that ended after so many others. */
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

  /** Ms below which `share` (0–1) of the answered calls stayed. */
  latencyMs(share: number, isWanted: (told: Told) => boolean = () => true): number {
    const sorted = this.calls
      .filter((told) => told.outcome === 'answered' && isWanted(told))
      .map(({ durationMs }) => durationMs)
      .sort((one, other) => one - other);
    return percentile(sorted, share);
  }
}
