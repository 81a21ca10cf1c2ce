import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import { TaskAbortError, type TaskAbortReason } from './task-abort.ts';
import type { TaskClaimsStore } from './task-claims.store.ts';

export interface LeaseSettings {
  /** Ms that a claim lasts without being renewed. */
  readonly leaseMs: number;
  /** Ms between renewals: a third of the lease, so that two may fail. */
  readonly heartbeatMs: number;
}

export const LEASE_SETTINGS: LeaseSettings = { leaseMs: 15_000, heartbeatMs: 5_000 };

/** An attempt's hold on its task. */
export interface Lease {
  /** Aborts with a TaskAbortError on cancel, lost claim, deadline, shutdown. */
  readonly signal: AbortSignal;
  /** Reports progress from 0 to 1; a lower value than before is ignored. Written with the next heartbeat. */
  report(progress: number): void;
  /**
   * Reports the run's position in its engine's own queue, from 1; undefined when it does not wait there. Written with the next
   * heartbeat.
   */
  waitsAt(position: number | undefined): void;
  /** Aborts the signal. */
  abort(reason: TaskAbortReason): void;
  /** Stops renewing; leaves the row as it is. */
  release(): void;
}

interface HeldLease {
  readonly id: string;
  readonly attempt: number;
  readonly controller: AbortController;
  progress: number;
  queuePosition: number | null;
}

/** Positions are capped at this. */
const POSITION_MAX = 1_000_000;
/** Longest timer that Node supports, in ms. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Renews the claims of one worker process in one statement per heartbeat, and aborts attempts that have lost theirs. */
export class LeaseKeeper {
  readonly #store: Pick<TaskClaimsStore, 'renew' | 'findLease'>;
  readonly #settings: LeaseSettings;
  readonly #log: Logger;
  readonly #held = new Map<string, HeldLease>();
  readonly #heartbeat: Loop;

  /** Starts its heartbeat at once. */
  constructor(store: Pick<TaskClaimsStore, 'renew' | 'findLease'>, settings: LeaseSettings, log: Logger) {
    this.#store = store;
    this.#settings = settings;
    this.#log = log;
    this.#heartbeat = every(settings.heartbeatMs, () => this.#beat());
  }

  /** Ms that a fresh claim lasts. */
  get leaseMs(): number {
    return this.#settings.leaseMs;
  }

  /** Number of attempts that this process holds. */
  get size(): number {
    return this.#held.size;
  }

  /** Holds a claim just made. Aborts the attempt as `overdue` after `deadlineMs`, and as `shutdown` when `signal` aborts. */
  hold(claim: { id: string; attempt: number; deadlineMs: number }, signal: AbortSignal): Lease {
    const lease: HeldLease = {
      id: claim.id,
      attempt: claim.attempt,
      controller: new AbortController(),
      progress: 0,
      queuePosition: null,
    };
    const key = keyOf(claim.id, claim.attempt);
    this.#held.set(key, lease);
    const untilDeadlineMs = Math.max(0, Math.min(claim.deadlineMs, TIMER_MS_MAX));
    const deadline = setTimeout(() => abort(lease, 'overdue'), untilDeadlineMs);
    const onAbort = (): void =>
      lease.controller.abort(
        signal.reason instanceof TaskAbortError ? signal.reason : new TaskAbortError('shutdown'),
      );
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) {
      onAbort();
    }
    return {
      signal: lease.controller.signal,
      report: (progress) => {
        // one NaN would make the heartbeat of all leases fail
        if (progress > lease.progress) {
          lease.progress = Math.min(progress, 1);
        }
      },
      waitsAt: (position) => {
        lease.queuePosition =
          position === undefined ? null : Math.min(Math.max(1, Math.trunc(position)), POSITION_MAX);
      },
      abort: (reason) => abort(lease, reason),
      release: () => {
        clearTimeout(deadline);
        signal.removeEventListener('abort', onAbort);
        this.#held.delete(key);
      },
    };
  }

  /** Stops any attempt of this process at the task. */
  cancel(taskId: string): void {
    for (const lease of this.#held.values()) {
      if (lease.id === taskId) {
        abort(lease, 'canceled');
      }
    }
  }

  /** Stops every attempt of this process, e.g. to shut down cleanly. */
  abortAll(reason: TaskAbortReason): void {
    for (const lease of this.#held.values()) {
      abort(lease, reason);
    }
  }

  /** Stops the heartbeat. Claims that are still held expire. */
  close(): Promise<void> {
    return this.#heartbeat.close();
  }

  async #beat(): Promise<void> {
    if (this.#held.size === 0) {
      return;
    }
    try {
      await this.#renew([...this.#held.values()]);
    } catch (error) {
      // The fence keeps an expired claim harmless, so work continues while the database is away.
      this.#log.warn({ error, tasks: this.#held.size }, 'leases could not be renewed');
    }
  }

  async #renew(leases: readonly HeldLease[]): Promise<void> {
    const renewed = await this.#store.renew(leases, this.#settings.leaseMs);
    const byKey = new Map(renewed.map((row) => [keyOf(row.id, row.attempt), row]));
    for (const lease of leases) {
      const found =
        byKey.get(keyOf(lease.id, lease.attempt)) ?? (await this.#store.findLease(lease.id, lease.attempt));
      if (!found) {
        abort(lease, 'claim_lost');
      } else if (found.cancelRequested) {
        abort(lease, 'canceled');
      }
    }
  }
}

function abort(lease: HeldLease, reason: TaskAbortReason): void {
  lease.controller.abort(new TaskAbortError(reason));
}

function keyOf(taskId: string, attempt: number): string {
  return `${taskId}/${attempt}`;
}
