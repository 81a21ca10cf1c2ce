import type { Statement } from '../statement.ts';

/** $1: names of the migrations this build needs. → those the database does not have */
export const missingMigrations: Statement = {
  name: 'missing_migrations',
  text: `SELECT needed AS name FROM unnest($1::text[]) needed
          WHERE NOT EXISTS (SELECT 1 FROM schema_migrations m WHERE m.name = needed)`,
};
