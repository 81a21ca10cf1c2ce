import type { Migration } from './migration.types.ts';

/** Browsers that are signed in to the console. A row is the session: deleting it signs the browser out everywhere. */
export const consoleSessions: Migration = {
  name: '0020-console-sessions',
  up: `
    CREATE TABLE console_sessions (
      id uuid PRIMARY KEY,
      -- SHA-256 hex of the cookie's value, which is stored nowhere
      token_hash text NOT NULL CONSTRAINT console_sessions_token UNIQUE CHECK (token_hash ~ '^[0-9a-f]{64}$'),
      account_id uuid NOT NULL REFERENCES accounts (id),
      api_key_id uuid NOT NULL REFERENCES api_keys (id),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      ends_at timestamptz NOT NULL,
      user_agent text NOT NULL DEFAULT '',
      address text NOT NULL DEFAULT ''
    );
    CREATE INDEX console_sessions_account ON console_sessions (account_id, id DESC);
    CREATE INDEX console_sessions_end ON console_sessions (ends_at);
  `,
  down: 'DROP TABLE console_sessions;',
};
