import type { Migration } from './migration.types.ts';

/** Asynchronous tasks, their files and webhooks; checkout, payment inbox, statements; idempotency. */
export const tasksAndBilling: Migration = {
  name: '0003-tasks-and-billing',
  up: `
    -- The row is also the outbox: the relay turns rows that wait into jobs. Its id is the id of its hold and generation.
    CREATE TABLE tasks (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL,
      api_key_id uuid NOT NULL,
      endpoint text NOT NULL,
      model text NOT NULL,
      kind text NOT NULL CHECK (kind IN ('image', 'video')),
      pool text NOT NULL,
      -- queued → generating → generated → processing → succeeded; any of them → failed | canceled
      state text NOT NULL DEFAULT 'queued' CHECK (state IN
        ('queued', 'generating', 'generated', 'processing', 'succeeded', 'failed', 'canceled')),
      -- engine input; nulled when the task ends
      parameters jsonb,
      seed bigint NOT NULL CHECK (seed >= 0),
      charge bigint NOT NULL,
      -- the fence: rises with every claim, and every later write must name it
      attempt integer NOT NULL DEFAULT 0,
      -- runs that failed for a reason that another run may cure
      failures integer NOT NULL DEFAULT 0,
      worker text,
      lease_until timestamptz,
      -- not handed to a queue before this
      not_before timestamptz NOT NULL DEFAULT clock_timestamp(),
      dispatched_at timestamptz,
      dispatches integer NOT NULL DEFAULT 0,
      engine text,
      engine_submitted_at timestamptz,
      engine_reference text,
      -- storage keys of the raw engine output between generate and postprocess
      raw_outputs jsonb,
      progress real NOT NULL DEFAULT 0 CHECK (progress BETWEEN 0 AND 1),
      cancel_requested_at timestamptz,
      error_code text,
      error_message text,
      webhook_url text,
      -- answer the image itself instead of a URL; copied out of the parameters at claim, because those go when the task ends
      base64_output boolean NOT NULL DEFAULT false,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      started_at timestamptz,
      completed_at timestamptz,
      deadline_at timestamptz NOT NULL,
      media_expires_at timestamptz,
      media_deleted_at timestamptz,
      CONSTRAINT tasks_ended CHECK ((state IN ('succeeded', 'failed', 'canceled')) = (completed_at IS NOT NULL))
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
    CREATE INDEX tasks_queued ON tasks (pool, account_id, id) WHERE state = 'queued';
    CREATE INDEX tasks_generated ON tasks (account_id, id) WHERE state = 'generated';
    CREATE INDEX tasks_leased ON tasks (lease_until) WHERE state IN ('generating', 'processing');
    CREATE INDEX tasks_deadline ON tasks (deadline_at) WHERE completed_at IS NULL;
    CREATE INDEX tasks_canceling ON tasks (cancel_requested_at) WHERE cancel_requested_at IS NOT NULL AND completed_at IS NULL;
    CREATE INDEX tasks_account ON tasks (account_id, id DESC);
    CREATE INDEX tasks_media_expiry ON tasks (media_expires_at) WHERE media_deleted_at IS NULL AND media_expires_at IS NOT NULL;
    CREATE INDEX tasks_completed ON tasks (completed_at) WHERE completed_at IS NOT NULL;

    CREATE TABLE task_outputs (
      task_id uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
      index integer NOT NULL CHECK (index >= 0),
      variant text NOT NULL CHECK (variant IN ('original', 'thumbnail', 'poster')),
      storage_key text NOT NULL,
      media_type text NOT NULL,
      bytes bigint NOT NULL CHECK (bytes > 0),
      width integer NOT NULL,
      height integer NOT NULL,
      duration_ms integer,
      sha256 text NOT NULL,
      PRIMARY KEY (task_id, index, variant)
    );

    -- What happened to a task, for the operator who asks why.
    CREATE TABLE task_events (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      task_id uuid NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      state text NOT NULL,
      attempt integer NOT NULL,
      detail text
    );
    CREATE INDEX task_events_task ON task_events (task_id, id);

    CREATE TABLE webhook_deliveries (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL,
      task_id uuid NOT NULL,
      url text NOT NULL,
      state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
      tries integer NOT NULL DEFAULT 0,
      next_try_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      dispatched_at timestamptz,
      last_status integer,
      last_error text,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      delivered_at timestamptz,
      CONSTRAINT webhook_deliveries_task_unique UNIQUE (task_id, url)
    );
    CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (next_try_at) WHERE state = 'pending';

    -- The delivery log: one row per try, for the customer who asks what their endpoint answered.
    CREATE TABLE webhook_tries (
      delivery_id uuid NOT NULL REFERENCES webhook_deliveries (id) ON DELETE CASCADE,
      try integer NOT NULL,
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      status integer,
      error text,
      duration_ms integer NOT NULL,
      PRIMARY KEY (delivery_id, try)
    );

    -- How much each live worker process can run at once: the relay keeps queues only a little longer than that.
    CREATE TABLE worker_slots (
      worker text NOT NULL,
      queue text NOT NULL,
      slots integer NOT NULL CHECK (slots > 0),
      seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (worker, queue)
    );

    CREATE TABLE webhook_secrets (
      account_id uuid PRIMARY KEY REFERENCES accounts (id),
      -- encrypted with a key derived from TOLLGATE_SECRET
      secret bytea NOT NULL,
      previous_secret bytea,
      rotated_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );

    CREATE TABLE checkout_sessions (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts (id),
      amount bigint NOT NULL CHECK (amount > 0),
      currency char(3) NOT NULL,
      provider text NOT NULL,
      provider_session_id text,
      payment_id text,
      url text NOT NULL,
      success_url text NOT NULL,
      cancel_url text NOT NULL,
      status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'complete', 'expired')),
      payment_status text NOT NULL DEFAULT 'unpaid' CHECK (payment_status IN ('unpaid', 'paid', 'no_payment_required')),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      expires_at timestamptz NOT NULL,
      credited_at timestamptz,
      CONSTRAINT checkout_sessions_provider_unique UNIQUE (provider, provider_session_id),
      CONSTRAINT checkout_sessions_payment_unique UNIQUE (provider, payment_id),
      CONSTRAINT checkout_sessions_credited_is_paid CHECK (credited_at IS NULL OR payment_status = 'paid')
    );
    CREATE INDEX checkout_sessions_account ON checkout_sessions (account_id, created_at DESC);
    CREATE INDEX checkout_sessions_open ON checkout_sessions (created_at) WHERE status = 'open';

    CREATE TABLE webhook_inbox (
      provider text NOT NULL,
      event_id text NOT NULL,
      type text NOT NULL,
      object_id text,
      body jsonb NOT NULL,
      received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      processed_at timestamptz,
      next_try_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      tries integer NOT NULL DEFAULT 0,
      error text,
      PRIMARY KEY (provider, event_id)
    );
    CREATE INDEX webhook_inbox_pending ON webhook_inbox (next_try_at) WHERE processed_at IS NULL;

    CREATE TABLE invoices (
      id uuid PRIMARY KEY,
      account_id uuid NOT NULL REFERENCES accounts (id),
      period_start timestamptz NOT NULL,
      period_end timestamptz NOT NULL,
      status text NOT NULL CHECK (status IN ('open', 'paid', 'void', 'uncollectible')),
      opening bigint NOT NULL,
      purchases bigint NOT NULL,
      usage bigint NOT NULL,
      refunds bigint NOT NULL,
      adjustments bigint NOT NULL,
      closing bigint NOT NULL,
      opening_seq bigint NOT NULL,
      closing_seq bigint NOT NULL,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT invoices_period_unique UNIQUE (account_id, period_start),
      CONSTRAINT invoices_identity CHECK (closing = opening + purchases - usage + refunds + adjustments)
    );

    CREATE TABLE idempotency_keys (
      account_id uuid NOT NULL,
      key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
      -- SHA-256 of method, path and body
      fingerprint text NOT NULL,
      state text NOT NULL CHECK (state IN ('running', 'done')),
      request_id text NOT NULL,
      -- made before the work starts, so that a crash in between still names the same generation
      generation_id uuid NOT NULL,
      status_code integer,
      -- AES-256-GCM under a key derived from TOLLGATE_SECRET; NULL for streams
      answer bytea,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      locked_until timestamptz NOT NULL,
      PRIMARY KEY (account_id, key)
    );
    CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
  `,
  down: `
    DROP TABLE idempotency_keys;
    DROP TABLE invoices;
    DROP TABLE webhook_inbox;
    DROP TABLE checkout_sessions;
    DROP TABLE webhook_secrets;
    DROP TABLE worker_slots;
    DROP TABLE webhook_tries;
    DROP TABLE webhook_deliveries;
    DROP TABLE task_events;
    DROP TABLE task_outputs;
    DROP TABLE tasks;
  `,
};
