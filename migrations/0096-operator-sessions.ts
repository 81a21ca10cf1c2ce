import type { Migration } from './migration.types.ts';

/** Browsers of operators whom the OpenID provider vouched for. A row is the session: deleting it signs the browser out everywhere. */
export const operatorSessions: Migration = {
  name: '0096-operator-sessions',
  up: `
    CREATE TABLE operator_sessions (
      id uuid PRIMARY KEY,
      -- SHA-256 hex of the cookie's value, which is stored nowhere
      token_hash text NOT NULL CONSTRAINT operator_sessions_token UNIQUE CHECK (token_hash ~ '^[0-9a-f]{64}$'),
      -- what the audit log calls them
      operator text NOT NULL,
      -- the claim that made them one; a session of another rule than the one that is set is none
      rule text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      ends_at timestamptz NOT NULL,
      user_agent text NOT NULL DEFAULT '',
      address text NOT NULL DEFAULT ''
    );
    CREATE INDEX operator_sessions_end ON operator_sessions (ends_at);
  `,
  down: 'DROP TABLE operator_sessions;',
};
