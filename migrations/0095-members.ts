import type { Migration } from './migration.types.ts';

/**
 * People who sign in as themselves, and those who are invited to. A member calls with a key of their own that nobody has the secret of: what
 * they spend, what they may spend and when their access ends is what holds for keys. Deleting that key is removing the member.
 */
export const members: Migration = {
  name: '0095-members',
  up: `
    CREATE TABLE members (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts (id),
      api_key_id uuid NOT NULL CONSTRAINT members_key UNIQUE REFERENCES api_keys (id) ON DELETE CASCADE,
      -- who it is, for ever; an e-mail address can be given to somebody else
      issuer text NOT NULL,
      subject text NOT NULL,
      email text NOT NULL,
      name text NOT NULL,
      role text NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      signed_in_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT members_person UNIQUE (issuer, subject, account_id)
    );
    CREATE INDEX members_account ON members (account_id, id DESC);

    CREATE TABLE invitations (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts (id),
      -- SHA-256 hex of the link's secret, which is stored nowhere
      token_hash text NOT NULL CONSTRAINT invitations_token UNIQUE CHECK (token_hash ~ '^[0-9a-f]{64}$'),
      email text NOT NULL,
      role text NOT NULL CHECK (role IN ('owner', 'developer', 'viewer')),
      invited_by text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      ends_at timestamptz NOT NULL
    );
    CREATE INDEX invitations_account ON invitations (account_id, id DESC);
    CREATE INDEX invitations_end ON invitations (ends_at);
  `,
  down: `
    DROP FUNCTION IF EXISTS join_account(uuid, uuid, jsonb, jsonb);
    DROP FUNCTION IF EXISTS remove_member(uuid, uuid);
    DROP TABLE invitations;
    -- nobody has the secret of these keys
    UPDATE api_keys k SET deleted_at = ledger_now() FROM members m WHERE k.id = m.api_key_id AND k.deleted_at IS NULL;
    DELETE FROM console_sessions s USING members m WHERE s.api_key_id = m.api_key_id;
    DROP TABLE members;
  `,
};
