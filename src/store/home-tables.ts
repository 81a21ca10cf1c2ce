/**
 * Tables of the installation: in the home database, once. All others hold rows of accounts, and are in every cell. Sessions, members and
 * invitations are among those: they go with the keys that they stand for, and each is of one account.
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
