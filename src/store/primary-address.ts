import pg from 'pg';
import { databaseAddresses, namesSeveralServers } from '../config/database-url.ts';
import { StandbyError } from './primary-client.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Returns how a program that uses a single connection reaches the server that a Postgres URL names, or the primary among several. Throws
 * ConfigError, with the name of the variable, for a list of servers that cannot be used, and the last server's error if none is a primary.
 */
export async function primaryAddress(url: string, variable: string): Promise<pg.ClientConfig> {
  if (!namesSeveralServers(url)) {
    return { connectionString: url };
  }
  let failure: unknown;
  for (const address of databaseAddresses(url, variable)) {
    try {
      await refuseStandby(address);
      return address;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function refuseStandby(address: pg.ClientConfig): Promise<void> {
  const client = new pg.Client({ ...address, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // a connection that breaks fails the query
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"');
    if (rows[0]?.isStandby) {
      throw new StandbyError();
    }
  } finally {
    await client.end().catch(() => undefined);
  }
}
