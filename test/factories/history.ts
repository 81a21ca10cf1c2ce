import pg from 'pg';
import type { Database } from '../../src/store/database.ts';

/** Runs work at another time of the ledger, e.g. '-40 days'. As in production, the times of one account must increase from call to call. */
export async function atTime<T>(
  url: string,
  database: Database,
  offset: string,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const options = `-c tollgate.clock_offset=${offset.replaceAll(' ', '\\ ')}`;
  const money = new pg.Pool({ connectionString: url, max: 2, options });
  try {
    return await work({ ...database, money });
  } finally {
    await money.end();
  }
}
