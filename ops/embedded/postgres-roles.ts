import pg from 'pg';
import { APPLICATION_ROLE, DATABASE_NAME, OWNER_ROLE } from './postgres-cluster.ts';

export type PostgresConnection = { port: number; ownerPassword: string; applicationPassword: string };

const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 20_000;

/** Returns the connection URL of one of the two roles on the loopback address. */
export function connectionUrl(role: 'owner' | 'application', connection: PostgresConnection): string {
  const [name, password] =
    role === 'owner'
      ? [OWNER_ROLE, connection.ownerPassword]
      : [APPLICATION_ROLE, connection.applicationPassword];
  return `postgresql://${name}:${password}@127.0.0.1:${connection.port}/${DATABASE_NAME}`;
}

/**
 * Asks the server which folder it serves, which proves that it is ours, is up and accepts our password. Throws the connection
 * error of pg when it does not respond within 5 s.
 */
export async function askClusterFolder(connection: PostgresConnection): Promise<string> {
  return await withOwner(connection, 'postgres', async (client) => {
    const result = await client.query<{ folder: string }>(
      "select current_setting('data_directory') as folder",
    );
    return result.rows[0]?.folder ?? '';
  });
}

/** Creates the application role and the database if they are missing. Safe to repeat after a kill at any point. */
export async function ensureRoles(connection: PostgresConnection): Promise<void> {
  await withOwner(connection, 'postgres', async (client) => {
    const role = await client.query('select 1 from pg_roles where rolname = $1', [APPLICATION_ROLE]);
    const password = client.escapeLiteral(connection.applicationPassword);
    const attributes = `login nosuperuser nocreatedb nocreaterole password ${password}`;
    if (role.rowCount === 0) {
      await client.query(`create role ${APPLICATION_ROLE} ${attributes}`);
    }
    const database = await client.query('select 1 from pg_database where datname = $1', [DATABASE_NAME]);
    if (database.rowCount === 0) {
      await client.query(`create database ${DATABASE_NAME} owner ${OWNER_ROLE}`);
    }
  });
}

async function withOwner<Result>(
  connection: PostgresConnection,
  database: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: connection.port,
    user: OWNER_ROLE,
    password: connection.ownerPassword,
    database,
    ssl: false,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    application_name: 'tollgate-start',
  });
  // If the server goes away between two queries, the query must fail, not the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
