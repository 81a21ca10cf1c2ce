import type pg from 'pg';
import { databaseAddresses, namesSeveralServers } from '../config/database-url.ts';
import { PrimaryClient, ServerRegistry } from './primary-client.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const NO_LIMITS = { lock: 0, statement: 0, idleInTransaction: 0 };

/**
 * Returns how a program that uses a single connection reaches the server that a Postgres URL names, or the primary among several. Throws
 * ConfigError, with the name of the variable, for a list of servers that cannot be used, and the last server's error if none is a primary.
 */
export async function primaryAddress(url: string, variable: string): Promise<pg.ClientConfig> {
  if (!namesSeveralServers(url)) {
    return { connectionString: url };
  }
  const servers = new ServerRegistry(databaseAddresses(url, variable));
  let failure: unknown;
  for (let tries = 0; tries < servers.addressCount; tries += 1) {
    const { address } = servers;
    const client = new PrimaryClient(servers, NO_LIMITS, { connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
    try {
      await client.connect();
      return address;
    } catch (error) {
      failure = error;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  throw failure;
}
