import type { Pool } from 'pg';

/** One use of an Idempotency-Key. */
export interface IdempotencyClaim {
  readonly accountId: string;
  readonly key: string;
  /** SHA-256 hex of the API key's id, method, path and body: another key of the account gets a refusal, never this one's answer. */
  readonly fingerprint: string;
  readonly requestId: string;
  readonly generationId: string;
}

export interface IdempotencyRow {
  /** `fresh`: ours to run; the others describe the use that came before. */
  readonly state: 'fresh' | 'running' | 'done';
  readonly fingerprint: string;
  readonly generationId: string;
  readonly statusCode: number | null;
  readonly answer: Buffer | null;
}

export interface StoredAnswer {
  readonly statusCode: number;
  /** Null for a stream. */
  readonly sealed: Buffer | null;
}

const LEASE = `interval '60 seconds'`;

/** The call that died was closed without a charge since, so its id is used up; a task's stays, for the task is what it made. */
const ENDED_FREE = `
    EXISTS (SELECT FROM generations g WHERE g.id = k.generation_id AND g.charge = 0)
      AND NOT EXISTS (SELECT FROM tasks t WHERE t.id = k.generation_id)`;

/**
 * A row is ours when it is new, older than a day, or left behind by a process that died; in the last case the generation id stays,
 * so that the same money is held. `xmax = 0` or our own request id tell that the write happened.
 */
const CLAIM = `
  INSERT INTO idempotency_keys AS k (account_id, key, fingerprint, state, request_id, generation_id, locked_until)
  VALUES ($1, $2, $3, 'running', $4, $5, clock_timestamp() + ${LEASE})
  ON CONFLICT (account_id, key) DO UPDATE SET
    fingerprint = excluded.fingerprint,
    state = 'running',
    request_id = excluded.request_id,
    generation_id = CASE WHEN k.created_at < clock_timestamp() - interval '24 hours' OR (${ENDED_FREE})
      THEN excluded.generation_id ELSE k.generation_id END,
    status_code = NULL,
    answer = NULL,
    created_at = CASE WHEN k.created_at < clock_timestamp() - interval '24 hours'
      THEN clock_timestamp() ELSE k.created_at END,
    locked_until = excluded.locked_until
  WHERE k.created_at < clock_timestamp() - interval '24 hours'
    OR (k.state = 'running' AND k.locked_until < clock_timestamp() AND k.fingerprint = excluded.fingerprint)
  RETURNING generation_id`;

const READ = `
  SELECT state, fingerprint, generation_id, status_code, answer
  FROM idempotency_keys WHERE account_id = $1 AND key = $2`;

const RENEW = `
  UPDATE idempotency_keys SET locked_until = clock_timestamp() + ${LEASE}
  WHERE account_id = $1 AND key = $2 AND generation_id = $3 AND state = 'running'`;

const COMPLETE = `
  UPDATE idempotency_keys SET state = 'done', status_code = $4, answer = $5
  WHERE account_id = $1 AND key = $2 AND generation_id = $3 AND state = 'running'`;

/** A failed call may be tried again under its key, unless it was charged: then the key goes on naming that charge. */
const RELEASE = `
  WITH charged AS (SELECT 1 FROM generations WHERE id = $3::uuid AND charge > 0),
  kept AS (
    UPDATE idempotency_keys SET state = 'done'
    WHERE account_id = $1 AND key = $2 AND generation_id = $3::uuid AND state = 'running' AND EXISTS (SELECT FROM charged)
  )
  DELETE FROM idempotency_keys
  WHERE account_id = $1 AND key = $2 AND generation_id = $3::uuid AND state = 'running' AND NOT EXISTS (SELECT FROM charged)`;

/** $1 how many at most. Keys whose day is over. */
export const expireIdempotencyKeys = {
  name: 'idempotency_expire',
  text: `DELETE FROM idempotency_keys WHERE (account_id, key) IN (
    SELECT account_id, key FROM idempotency_keys WHERE created_at < statement_timestamp() - interval '24 hours' LIMIT $1)`,
};

const EXPIRED_PER_STATEMENT = 5_000;

/** The uses of Idempotency-Keys, in Postgres: they outlive a process and are seen by every replica. */
export class IdempotencyStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Claims the key or tells who holds it. */
  async claim(claim: IdempotencyClaim): Promise<IdempotencyRow> {
    const values = [claim.accountId, claim.key, claim.fingerprint, claim.requestId, claim.generationId];
    const claimed = await this.#pool.query({ name: 'idempotency_claim', text: CLAIM, values });
    if (claimed.rows[0]) {
      return {
        state: 'fresh',
        fingerprint: claim.fingerprint,
        generationId: claimed.rows[0].generation_id,
        statusCode: null,
        answer: null,
      };
    }
    const { rows } = await this.#pool.query({
      name: 'idempotency_read',
      text: READ,
      values: [claim.accountId, claim.key],
    });
    const [row] = rows;
    // released between the two statements: the caller hears "in progress" and tries again
    return row
      ? {
          state: row.state,
          fingerprint: row.fingerprint,
          generationId: row.generation_id,
          statusCode: row.status_code,
          answer: row.answer,
        }
      : {
          state: 'running',
          fingerprint: claim.fingerprint,
          generationId: '',
          statusCode: null,
          answer: null,
        };
  }

  async renew(claim: IdempotencyClaim): Promise<void> {
    const values = [claim.accountId, claim.key, claim.generationId];
    await this.#pool.query({ name: 'idempotency_renew', text: RENEW, values });
  }

  async complete(claim: IdempotencyClaim, answer: StoredAnswer): Promise<void> {
    const values = [claim.accountId, claim.key, claim.generationId, answer.statusCode, answer.sealed];
    await this.#pool.query({ name: 'idempotency_complete', text: COMPLETE, values });
  }

  async release(claim: IdempotencyClaim): Promise<void> {
    const values = [claim.accountId, claim.key, claim.generationId];
    await this.#pool.query({ name: 'idempotency_release', text: RELEASE, values });
  }

  /** Deletes keys older than a day, in bounded statements. Returns how many. */
  async expire(): Promise<number> {
    let expired = 0;
    for (;;) {
      const values = [EXPIRED_PER_STATEMENT];
      const { rowCount } = await this.#pool.query({ ...expireIdempotencyKeys, values });
      expired += rowCount ?? 0;
      if ((rowCount ?? 0) < EXPIRED_PER_STATEMENT) {
        return expired;
      }
    }
  }
}
