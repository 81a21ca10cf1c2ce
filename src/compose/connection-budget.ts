import { run } from '../store/statement.ts';
import { connectionsAllowed } from './connections.sql.ts';
import type { Foundation } from './foundation.ts';

/** Warns when the API processes behind this port may together open more connections than the database accepts. Never rejects. */
export async function warnOfConnections({ config, cells, log }: Foundation): Promise<void> {
  const { apiProcesses: processes, databaseConnections } = config;
  // plus one listening connection per process
  const wanted = processes * (databaseConnections + 1);
  try {
    const [{ most } = { most: 0 }] = await run<{ most: number }>(cells.home.money, connectionsAllowed, []);
    if (wanted > most) {
      log.warn(
        { processes, wanted, most },
        `${processes} API processes may open ${wanted} connections, but the database accepts ${most}: lower API_PROCESSES or DATABASE_CONNECTIONS, or raise max_connections`,
      );
    }
  } catch (error) {
    log.debug({ error }, 'could not check the connection limit');
  }
}
