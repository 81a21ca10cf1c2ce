import pg from 'pg';
import { migrateUp } from '../../migrations/migrate.ts';
import { bucketOf } from '../../src/lib/ids.ts';
import type { Cells } from '../../src/store/cells.ts';
import { createDatabase, type Database } from '../../src/store/database.ts';
import { createTestDatabase, ledgerViolations, type TestDatabase } from '../setup/database.ts';

/** One of two cells: a schema of the product on a server that has another one. */
export interface TestCell {
  readonly schema: string;
  readonly database: Database;
  /** Returns the contents of all tables of the schema, by table: equal texts mean equal rows. */
  contents(): Promise<Map<string, string>>;
  violations(): ReturnType<typeof ledgerViolations>;
  /** Runs work on the schema as its owner. */
  asOwner<T>(work: (client: pg.Client) => Promise<T>): Promise<T>;
}

export interface TwoCells {
  /** The first cell is home; accounts with an odd bucket are in the second. Asking for the sole cell throws. */
  readonly cells: Cells;
  readonly both: readonly [TestCell, TestCell];
  close(): Promise<void>;
}

const SCHEMAS = ['cell_0', 'cell_1'] as const;

/** Creates the product's schema twice in one database, and nothing in `public`. `given`: a migrated database of another server. */
export async function createTwoCells(
  given?: Pick<TestDatabase, 'url' | 'ownerUrl' | 'discard'>,
): Promise<TwoCells> {
  const test = given ?? (await createTestDatabase());
  const applicationRole = decodeURIComponent(new URL(test.url).username);
  await asRole(test.ownerUrl, (owner) =>
    owner.query('ALTER SCHEMA public RENAME TO cell_0; CREATE SCHEMA public'),
  );
  await migrateUp({ ownerUrl: test.ownerUrl, applicationRole });
  await asRole(test.ownerUrl, (owner) => owner.query('ALTER SCHEMA public RENAME TO cell_1'));
  const made = await Promise.all(SCHEMAS.map((schema) => openCell(test, schema, applicationRole)));
  const both = made as [TestCell, TestCell];
  const of = (id: string) => both[bucketOf(id) % 2 === 0 ? 0 : 1].database;
  const all = both.map(({ database }) => database);
  return {
    both,
    cells: {
      home: both[0].database,
      of,
      ofOwned: of,
      all: () => all,
      get sole(): never {
        throw new Error('this code does not support several cells');
      },
    },
    close: async () => {
      await Promise.all(all.map((database) => database.close()));
      await test.discard();
    },
  };
}

async function openCell(
  { url, ownerUrl }: { url: string; ownerUrl: string },
  schema: string,
  applicationRole: string,
): Promise<TestCell> {
  const own = inSchema(ownerUrl, schema);
  // recreated in their current schema: functions keep the schema in which they were created
  await asRole(own, (owner) => owner.query('DELETE FROM schema_functions'));
  await migrateUp({ ownerUrl: own, applicationRole });
  const settings = { url: inSchema(url, schema), moneyConnections: 4, connections: 2 };
  return {
    schema,
    database: createDatabase(settings, () => undefined),
    contents: () => asRole(own, (owner) => contentsOf(owner, schema)),
    violations: () => asRole(own, ledgerViolations),
    asOwner: (work) => asRole(own, work),
  };
}

function inSchema(url: string, schema: string): string {
  const changed = new URL(url);
  changed.searchParams.set('options', `-c search_path=${schema}`);
  return changed.href;
}

async function contentsOf(client: pg.Client, schema: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p')`,
    [schema],
  );
  const contents = new Map<string, string>();
  for (const { name } of rows) {
    const read = `SELECT coalesce(string_agg(t::text, E'\\n' ORDER BY t::text), '') AS rows FROM ${name} t`;
    contents.set(name, (await client.query<{ rows: string }>(read)).rows[0]?.rows ?? '');
  }
  return contents;
}

async function asRole<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
