import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { MIGRATIONS } from './catalog.ts';
import { inTransaction } from './in-transaction.ts';

/** The database functions of one family, in the version of this build. */
export interface FunctionFile {
  /** `functions/<family>.sql`, as in `schema_functions`. */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the SQL, hex. */
  readonly checksum: string;
}

/** Reads `migrations/functions/*.sql`, sorted by name. The compiled build reads them from the package's folder, too. */
export function functionFiles(): FunctionFile[] {
  const folder = ['./functions', '../../migrations/functions']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((path) => existsSync(path));
  if (folder === undefined) {
    throw new Error('migrations/functions is missing: it belongs beside dist/ in an installation');
  }
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const sql = readFileSync(join(folder, file), 'utf8');
      return { name: `functions/${file}`, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

/**
 * Functions take their search path FROM CURRENT, so that they work on the schema they were created in, which may be any cell's, whoever
 * calls them. The schema of temporary tables is named last, so that it cannot hide our tables.
 */
const KEEP_SCHEMA = `SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)`;

/**
 * Applies each file whose latest applied version differs, all in one transaction, so that no call sees a mixture.
 * Expects the migration lock to be held. Returns the names applied. Throws Postgres errors.
 */
export async function applyFunctions(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'SELECT DISTINCT ON (name) name, checksum FROM schema_functions ORDER BY name, applied_at DESC',
  );
  const latest = new Map(rows.map((row) => [row.name, row.checksum]));
  const changed = functionFiles().filter((file) => latest.get(file.name) !== file.checksum);
  if (changed.length === 0) {
    return [];
  }
  // bodies are not checked, because functions they call may still be missing
  const statements = [
    'SET LOCAL check_function_bodies = off',
    KEEP_SCHEMA,
    ...changed.map((file) => file.sql),
  ];
  await inTransaction(client, async () => {
    for (const statement of statements) {
      await client.query(statement);
    }
    await client.query(
      `INSERT INTO schema_functions (name, checksum, applied_at)
         SELECT f.name, f.checksum, clock_timestamp() FROM unnest($1::text[], $2::text[]) f (name, checksum)
         ON CONFLICT (name, checksum) DO UPDATE SET applied_at = excluded.applied_at`,
      [changed.map((file) => file.name), changed.map((file) => file.checksum)],
    );
  });
  return changed.map((file) => file.name);
}

/**
 * Prepares for undoing a migration: forgets which versions were applied, so that the next `migrateUp` applies all of them,
 * and drops the functions that no numbered migration creates, since no migration would drop them.
 */
export async function forgetFunctions(client: Client): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>(
    `SELECT to_regclass('schema_functions') IS NOT NULL AS there`,
  );
  if (rows[0]?.there !== true) {
    return;
  }
  const numbered = MIGRATIONS.map((migration) => ('up' in migration ? migration.up : '')).join('\n');
  const unnumbered = functionFiles()
    .flatMap((file) => [...file.sql.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].map((match) => match[1]))
    .filter((name) => !numbered.includes(`FUNCTION ${name}(`));
  await inTransaction(client, async () => {
    await client.query('DELETE FROM schema_functions');
    if (unnumbered.length > 0) {
      await client.query(`DROP FUNCTION IF EXISTS ${unnumbered.join(', ')}`);
    }
  });
}
