import type pg from 'pg';
import { Movements } from './movements.ts';

/**
 * Runs the bookings of `work` and rolls them back: everything that could reject them is checked, nothing is written. Holds the account's
 * lock until the end of `work`. Throws what the movements throw.
 */
export async function dryRunMovements<T>(
  pool: pg.Pool,
  work: (movements: Movements, client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(new Movements(() => client), client);
    await client.query('ROLLBACK');
    return result;
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    // closing a connection in an unknown state rolls back
    client.release(broken);
  }
}
