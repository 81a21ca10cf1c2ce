import type { Migration } from './migration.types.ts';

/** When the person last proved who they are, where that was before the session: at an OpenID provider that asks only once a day. */
export const provenSessions: Migration = {
  name: '0125-proven-sessions',
  up: 'ALTER TABLE console_sessions ADD COLUMN proven_at timestamptz;',
  down: 'ALTER TABLE console_sessions DROP COLUMN proven_at;',
};
