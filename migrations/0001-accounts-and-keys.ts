import type { Migration } from './migration.types.ts';

/** Accounts, their balances and their keys: the three rows every paid call is decided on. */
export const accountsAndKeys: Migration = {
  name: '0001-accounts-and-keys',
  up: `
    CREATE TABLE accounts (
      id uuid PRIMARY KEY,
      name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
      suspended boolean NOT NULL DEFAULT false,
      -- NULL: every model of the catalog
      allowed_models text[],
      created_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );

    -- The hot row. posted = credits - used at all times; no index but the key, so that its updates stay HOT.
    CREATE TABLE balances (
      account_id uuid PRIMARY KEY REFERENCES accounts (id),
      posted bigint NOT NULL DEFAULT 0,
      held bigint NOT NULL DEFAULT 0 CONSTRAINT balances_held_not_negative CHECK (held >= 0),
      used bigint NOT NULL DEFAULT 0,
      -- what a payment reversal took beyond the balance; blocks new holds until a purchase repays it
      debt bigint NOT NULL DEFAULT 0 CONSTRAINT balances_debt_not_negative CHECK (debt >= 0),
      seq bigint NOT NULL DEFAULT 0,
      last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT balances_never_overspent CHECK (posted >= held)
    ) WITH (fillfactor = 50);

    CREATE TABLE api_keys (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts (id),
      -- SHA-256 hex of the secret: public name and lookup key at once; the secret itself is stored nowhere
      hash text NOT NULL CONSTRAINT api_keys_hash_unique UNIQUE CHECK (hash ~ '^[0-9a-f]{64}$'),
      name text NOT NULL,
      label text NOT NULL,
      role text NOT NULL CHECK (role IN ('owner', 'inference')),
      disabled boolean NOT NULL DEFAULT false,
      allowed_models text[],
      limit_nano bigint CHECK (limit_nano >= 0),
      -- the limit that was in force when the held money was admitted: a limit lowered below spent + held does not undo it
      cap_nano bigint,
      spent bigint NOT NULL DEFAULT 0,
      held bigint NOT NULL DEFAULT 0 CONSTRAINT api_keys_held_not_negative CHECK (held >= 0),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      expires_at timestamptz,
      deleted_at timestamptz,
      last_used_at timestamptz,
      CONSTRAINT api_keys_never_above_cap CHECK (cap_nano IS NULL OR spent + held <= cap_nano)
    ) WITH (fillfactor = 50);
    CREATE INDEX api_keys_account ON api_keys (account_id, created_at DESC, id DESC);

    -- Content-addressed: the id is a digest of the prices, so every replica that loads the same catalog agrees on it.
    CREATE TABLE price_versions (
      id text PRIMARY KEY,
      model text NOT NULL,
      pricing jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );

    CREATE TABLE audit_log (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      actor text NOT NULL,
      action text NOT NULL,
      object text NOT NULL,
      request_id text,
      detail jsonb NOT NULL DEFAULT '{}'
    );
  `,
  down: `
    DROP TABLE audit_log;
    DROP TABLE price_versions;
    DROP TABLE api_keys;
    DROP TABLE balances;
    DROP TABLE accounts;
  `,
};
