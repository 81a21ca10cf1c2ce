import type { Migration } from './migration.types.ts';

/** Each sign-in counts the sessions of its key, of which an account may have many. */
export const sessionsOfKey: Migration = {
  name: '0120-sessions-of-a-key',
  up: 'CREATE INDEX console_sessions_key ON console_sessions (account_id, api_key_id, id DESC);',
  down: 'DROP INDEX console_sessions_key;',
};
