/**
 * Tables of the installation, which exist once, in the home database. All others hold rows of accounts and are in every cell, including
 * sessions, members and invitations: each belongs to one account and goes with the key it represents.
 */
export const HOME_TABLES: readonly string[] = [
  'audit_log',
  'audit_seals',
  'backups',
  'input_margins',
  'ledger_checks',
  'operator_sessions',
  'payment_moves_seen',
  'price_periods',
  'price_versions',
  'schema_functions',
  'schema_migrations',
  'webhook_inbox',
  'worker_drains',
  'worker_slots',
  'worker_tokens',
  'workers',
];
