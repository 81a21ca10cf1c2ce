import type { Migration } from './migration.types.ts';

/**
 * Which versions of `migrations/functions/*.sql` this database has had. Versions are kept after they are replaced:
 * during an upgrade a process of the old release asks whether its own version was ever applied, not whether it is the latest.
 */
export const schemaFunctions: Migration = {
  name: '0012-schema-functions',
  up: `
    CREATE TABLE schema_functions (
      name text NOT NULL,
      -- SHA-256 of the file, hex
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (name, checksum)
    );`,
  down: 'DROP TABLE schema_functions;',
};
