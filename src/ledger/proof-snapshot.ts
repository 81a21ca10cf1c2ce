import type pg from 'pg';

/** Proving millions of entries takes longer than a request may. In ms. */
export const PROOF_TIMEOUT_MS = 300_000;

/**
 * Runs all queries of a proof in one snapshot, so that money in motion does not look like missing money. Each statement may take five
 * minutes; a query needs its own `query_timeout` as well. Rejects with errors of Postgres and of `work`.
 */
export async function inSnapshot<T>(
  pool: pg.Pool,
  access: 'READ ONLY' | 'READ WRITE',
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ ${access}`);
    await client.query(`SET LOCAL statement_timeout = ${PROOF_TIMEOUT_MS}`);
    await client.query(`SET LOCAL work_mem = '64MB'`);
    const result = await work(client);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // closing the connection rolls back, whatever state it is in
    client.release(true);
    throw error;
  }
}
