import { writeFile } from 'node:fs/promises';
import pg from 'pg';
import { describeSchema } from '../migrations/describe-schema.ts';
import { migrateUp } from '../migrations/migrate.ts';

/** Migrates a temporary database on the server at `ownerUrl`, writes its schema to `file` and drops the database. */
export async function generateSchema(ownerUrl: string, file: string): Promise<void> {
  const name = `schema_${process.pid}`;
  const server = new pg.Client({ connectionString: ownerUrl });
  await server.connect();
  try {
    await server.query(`CREATE DATABASE ${name}`);
    const url = new URL(ownerUrl);
    url.pathname = `/${name}`;
    await migrateUp({ ownerUrl: url.href });
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    await writeFile(file, await describeSchema(client).finally(() => client.end()));
  } finally {
    await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await server.end();
  }
}
