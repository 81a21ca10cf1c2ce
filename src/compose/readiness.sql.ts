import type { SqlStatement } from '../store/statement.ts';

/** → whether any migration was ever run */
export const migrationsTable: SqlStatement = {
  name: 'migrations_table',
  text: `SELECT to_regclass('schema_migrations') IS NOT NULL AS is_there`,
};

/** $1: names of the migrations this build needs. → those missing in the database */
export const missingMigrations: SqlStatement = {
  name: 'missing_migrations',
  text: `SELECT needed AS name FROM unnest($1::text[]) needed
          WHERE NOT EXISTS (SELECT 1 FROM schema_migrations m WHERE m.name = needed)`,
};

/** $1: names of this build's function files, $2: their checksums. → those that have not been applied */
export const missingFunctions: SqlStatement = {
  name: 'missing_functions',
  text: `SELECT needed.name FROM unnest($1::text[], $2::text[]) needed (name, checksum)
          WHERE NOT EXISTS (SELECT 1 FROM schema_functions f WHERE f.name = needed.name AND f.checksum = needed.checksum)`,
};
