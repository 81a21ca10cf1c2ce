import type { Migration } from './migration.types.ts';

/** How many statements of a month are final is counted at each scrape, to tell how many are not. */
export const finalStatements: Migration = {
  name: '0050-final-statements',
  up: `
    CREATE INDEX invoices_final ON invoices (period_start) WHERE status IN ('paid', 'uncollectible');
  `,
  down: `
    DROP INDEX invoices_final;
  `,
};
