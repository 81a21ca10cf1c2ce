import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { MIGRATIONS } from '../../migrations/catalog.ts';
import { functionFiles } from '../../migrations/functions.ts';
import { migrateUp } from '../../migrations/migrate.ts';
import { INVARIANTS, invariantValues } from '../../src/ledger/invariants.sql.ts';
import { createDatabase, type Database } from '../../src/store/database.ts';
import { MOVABLE_CLOCK } from './movable-clock.ts';

export interface TestDatabase {
  /** Connects as the application role, as in production. */
  readonly url: string;
  readonly ownerUrl: string;
  readonly database: Database;
  /** Returns the rows of the ledger invariants: [] while the books are correct. */
  violations(): Promise<{ invariant: string; object: string; detail: string }[]>;
  /** Checks the invariants, closes the pools, fails on leaked connections and drops the database. */
  close(): Promise<void>;
  /** Closes and drops the database without checking the books: for databases that were broken on purpose. */
  discard(): Promise<void>;
}

const TEMPLATE_LOCK = 7_706_115_002;
const LEAK_WAIT_MS = 3_000;

/**
 * Creates a database of its own for one test file, copied from a template that is migrated once per run. Call `close` in `afterAll`.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  const ownerUrl = requiredVariable('TEST_DATABASE_OWNER_URL');
  const applicationUrl = requiredVariable('TEST_DATABASE_URL');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const template = await ensureTemplate(ownerUrl, applicationUrl);
  await withClient(ownerUrl, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  });
  const url = withDatabase(applicationUrl, name);
  const database = createDatabase(
    { url: patientUrl(url), moneyConnections: 10, connections: 5 },
    () => undefined,
  );
  const ownUrl = withDatabase(ownerUrl, name);
  return {
    url,
    ownerUrl: ownUrl,
    database,
    violations: () => withClient(ownUrl, ledgerViolations),
    close: () => closeTestDatabase(ownerUrl, ownUrl, name, database),
    discard: async () => {
      await database.close();
      // a connection that is still closing would receive its termination after its error listener is gone
      await leakedConnections(ownerUrl, name);
      await withClient(ownerUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}

/** Returns a database's URL with patience: on a machine with too much to do, a connection can take longer than a customer would wait. */
export function patientUrl(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}connect_timeout=60`;
}

/** Runs every invariant on an open connection. */
export async function ledgerViolations(
  client: pg.Client,
): Promise<{ invariant: string; object: string; detail: string }[]> {
  const found: { invariant: string; object: string; detail: string }[] = [];
  for (const invariant of INVARIANTS) {
    const { rows } = await client.query<{ object: string; detail: string }>(
      invariant.text,
      invariantValues(invariant, null),
    );
    found.push(...rows.map((row) => ({ invariant: invariant.name, ...row })));
  }
  return found;
}

async function closeTestDatabase(
  ownerUrl: string,
  ownUrl: string,
  name: string,
  database: Database,
): Promise<void> {
  const violations = await withClient(ownUrl, ledgerViolations);
  await database.close();
  const leaked = await leakedConnections(ownerUrl, name);
  await withClient(ownerUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
  if (violations.length > 0) {
    throw new Error(`ledger invariants violated: ${JSON.stringify(violations, null, 2)}`);
  }
  if (leaked.length > 0) {
    throw new Error(`connections left open: ${leaked.join('; ')}`);
  }
}

/** Returns the last statements of connections that are still open some time after all should have closed. */
async function leakedConnections(ownerUrl: string, name: string): Promise<string[]> {
  const deadline = Date.now() + LEAK_WAIT_MS;
  return await withClient(ownerUrl, async (client) => {
    for (;;) {
      const { rows } = await client.query<{ query: string }>(
        'SELECT query FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
        [name],
      );
      if (rows.length === 0 || Date.now() > deadline) {
        return rows.map((row) => row.query);
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  });
}

async function ensureTemplate(ownerUrl: string, applicationUrl: string): Promise<string> {
  const digest = createHash('sha256')
    .update(JSON.stringify([MIGRATIONS, functionFiles(), MOVABLE_CLOCK]))
    .digest('hex')
    .slice(0, 12);
  const template = `template_${digest}`;
  await withClient(ownerUrl, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount === 0) {
      await client.query(`CREATE DATABASE ${template}_new`);
      await migrateUp({
        ownerUrl: withDatabase(ownerUrl, `${template}_new`),
        applicationRole: decodeURIComponent(new URL(applicationUrl).username),
      });
      await withClient(withDatabase(ownerUrl, `${template}_new`), (made) => made.query(MOVABLE_CLOCK));
      await client.query(`ALTER DATABASE ${template}_new RENAME TO ${template}`);
    }
  });
  return template;
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

function requiredVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined) {
    throw new Error(`${name} is not set. Run the tests with npm test.`);
  }
  return value;
}
