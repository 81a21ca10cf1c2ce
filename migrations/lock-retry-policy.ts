import { setTimeout as sleep } from 'node:timers/promises';

const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK_DETECTED = '40P01';

/** How long a statement may wait for a lock, and how often it is retried after that. */
export interface LockRetryPolicy {
  readonly timeoutMs: number;
  readonly tries: number;
  readonly pauseMs: number;
}

/** Calls queue behind a waiting lock request: three seconds are less than any call may take. Four minutes in total. */
export const BRIEF_PATIENCE: LockRetryPolicy = { timeoutMs: 3_000, tries: 60, pauseMs: 1_000 };

/**
 * Runs `attempt`, and repeats it when a lock was not available in time or was part of a deadlock. The attempt sets its own
 * `lock_timeout`, and leaves nothing behind when it throws. Rethrows the last error.
 */
export async function withPatience(
  { tries, pauseMs }: LockRetryPolicy,
  attempt: () => Promise<void>,
): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isAboutLocks(error) || tried >= tries) {
        throw error;
      }
    }
    await sleep(pauseMs);
  }
}

/** Returns whether Postgres reports that a lock was not available. */
export function isAboutLocks(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === LOCK_NOT_AVAILABLE || code === DEADLOCK_DETECTED;
}
