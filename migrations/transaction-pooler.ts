import type { Client } from 'pg';

/** The owner's URL leads to a pooler in transaction mode: another attempt would fail in the same way. */
export class TransactionPoolerError extends Error {
  override readonly name = 'TransactionPoolerError';
}

/**
 * Throws {@link TransactionPoolerError} behind a pooler in transaction mode. Its connection to the server would keep the lock of a
 * migration after the end of the session, and every later migration would wait for it. `second` is not connected yet and ends here.
 */
export async function refuseTransactionPooler(first: Client, second: Client): Promise<void> {
  await second.connect();
  try {
    if (await sharesSessions(first, second)) {
      throw new TransactionPoolerError(
        'this looks like a pooler in transaction mode, which would keep the lock of the migration: use session mode, or connect to Postgres directly',
      );
    }
  } finally {
    await second.end();
  }
}

/** Returns whether a transaction of one connection runs in the session of another, or a connection changes its session. */
export async function sharesSessions(first: Client, second: Client): Promise<boolean> {
  const before = await session(first);
  await second.query('BEGIN');
  const other = await session(second);
  const after = await session(first);
  await second.query('ROLLBACK');
  return other === before || after !== before;
}

async function session(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid;
}
