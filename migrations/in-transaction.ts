import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';

const LOCK_NOT_AVAILABLE = '55P03';

/** How long a transaction may wait for a lock, and how often it is tried again where that was not enough. */
export interface LockPatience {
  readonly timeoutMs: number;
  readonly tries: number;
  readonly pauseMs: number;
}

/** Calls wait behind a lock that is waited for: three seconds are less than any of them may take. In all, four minutes. */
const PATIENCE: LockPatience = { timeoutMs: 3_000, tries: 60, pauseMs: 1_000 };

/**
 * Commits what `work` did on the client, or rolls all of it back and throws what it threw. Where a lock cannot be had in time, it is
 * rolled back and done again.
 */
export async function inTransaction(
  client: Client,
  work: () => Promise<void>,
  { timeoutMs, tries, pauseMs }: LockPatience = PATIENCE,
): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    await client.query('BEGIN');
    try {
      await client.query(`SET LOCAL lock_timeout = ${timeoutMs}`);
      await work();
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      if ((error as { readonly code?: unknown }).code !== LOCK_NOT_AVAILABLE || tried >= tries) {
        throw error;
      }
    }
    await sleep(pauseMs);
  }
}
