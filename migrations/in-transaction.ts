import type { Client } from 'pg';

/** Commits what `work` did on the client, or rolls all of it back and throws what it threw. */
export async function inTransaction(client: Client, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  try {
    await work();
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}
