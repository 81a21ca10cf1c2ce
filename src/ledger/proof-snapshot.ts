import type pg from 'pg';

/** Proving millions of entries takes longer than a request may. */
export const PROOF_TIMEOUT_MS = 300_000;

/**
 * One snapshot for all queries of a proof: money that moves meanwhile must not look like money that is missing. Each may take five
 * minutes; a query needs its own `query_timeout` beside that. Rejects with what Postgres throws and what `work` does.
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
