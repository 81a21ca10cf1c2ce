import type { Client } from 'pg';
import { BRIEF_PATIENCE, type LockRetryPolicy, withPatience } from './lock-retry-policy.ts';

/**
 * Commits what `work` did on the client, or rolls all of it back and rethrows its error. If a lock is not
 * available in time, rolls back and tries again.
 */
export function inTransaction(
  client: Client,
  work: () => Promise<void>,
  patience: LockRetryPolicy = BRIEF_PATIENCE,
): Promise<void> {
  return withPatience(patience, async () => {
    await client.query('BEGIN');
    try {
      await client.query(`SET LOCAL lock_timeout = ${patience.timeoutMs}`);
      await work();
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
  });
}
