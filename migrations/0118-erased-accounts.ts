import type { Migration } from './migration.types.ts';

/**
 * When an account was erased, which no later change undoes. Accounts erased before this step are known by what the erasure left: the name,
 * and no key.
 */
export const erasedAccounts: Migration = {
  name: '0118-erased-accounts',
  up: `
    ALTER TABLE accounts ADD COLUMN erased_at timestamptz;
    UPDATE accounts a SET erased_at = statement_timestamp()
     WHERE a.name = 'erased' AND a.suspended AND a.billing IS NULL
       AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.account_id = a.id AND k.deleted_at IS NULL);`,
  down: 'ALTER TABLE accounts DROP COLUMN erased_at;',
};
