import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { MIGRATIONS } from '../../migrations/catalog.ts';
import { describeSchema } from '../../migrations/describe-schema.ts';
import { migrateDown, migrateUp, migrationNames } from '../../migrations/migrate.ts';

const SCHEMA_FILE = fileURLToPath(new URL('../../migrations/schema.sql', import.meta.url));
const serverUrl = process.env.TEST_DATABASE_OWNER_URL!;

let url: string;
let name: string;

beforeEach(async () => {
  name = `migrations_${Math.random().toString(36).slice(2, 10)}`;
  await onServer(`CREATE DATABASE ${name}`);
  const own = new URL(serverUrl);
  own.pathname = `/${name}`;
  url = own.href;
});

afterEach(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`));

async function onServer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

async function schema(): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return await describeSchema(client).finally(() => client.end());
}

test('the committed schema.sql is what the migrations make (npm run generate writes it)', async () => {
  await migrateUp({ ownerUrl: url });
  expect(await schema()).toBe(readFileSync(SCHEMA_FILE, 'utf8'));
});

test('every migration can be undone, one by one, and applied again to the same schema', async () => {
  const empty = await (async () => {
    await migrateUp({ ownerUrl: url });
    await migrateDown({ ownerUrl: url }, MIGRATIONS[0]!.name);
    return await schema();
  })();
  expect(empty).not.toContain('TABLE accounts');
  await migrateUp({ ownerUrl: url });
  const full = await schema();
  for (const migration of [...MIGRATIONS].reverse()) {
    expect(await migrateDown({ ownerUrl: url })).toEqual([migration.name]);
  }
  expect(await schema()).toBe(empty);
  await migrateUp({ ownerUrl: url });
  expect(await schema()).toBe(full);
});

test('twenty replicas that start at once migrate once', async () => {
  const applied = await Promise.all(Array.from({ length: 20 }, () => migrateUp({ ownerUrl: url })));
  expect(applied.flat()).toEqual(migrationNames());
});
