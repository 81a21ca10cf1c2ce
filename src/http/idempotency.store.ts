import type { Pool } from 'pg';

/** What a call is kept under. */
export interface KeptName {
  readonly accountId: string;
  readonly key: string;
}

/** One use of an Idempotency-Key. */
export interface IdempotencyClaim extends KeptName {
  /** SHA-256 hex of the API key's id, method, path and body: another key of the account gets a refusal, never this one's answer. */
  readonly fingerprint: string;
  readonly requestId: string;
  readonly generationId: string;
}

export interface IdempotencyRow {
  /** `fresh`: ours to run; the others describe the use that came before, `dead` one whose process has died. */
  readonly state: 'fresh' | 'running' | 'dead' | 'done';
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
  SELECT CASE WHEN state = 'running' AND locked_until < clock_timestamp() THEN 'dead' ELSE state END AS state,
    fingerprint, generation_id, status_code, answer
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

/** How long a retry may join a call that was left. */
const JOINABLE = `interval '60 seconds'`;

const LEAVE = `
  INSERT INTO idempotency_keys
    (account_id, key, fingerprint, state, request_id, generation_id, locked_until, joinable_until)
  VALUES ($1, $2, $3, 'running', $4, $5, clock_timestamp() + ${LEASE}, clock_timestamp() + ${JOINABLE})`;

/** Of calls that are alike each is joined by one retry only: two callers never get the same answer. */
const JOIN = `
  UPDATE idempotency_keys SET joinable_until = NULL
  WHERE (account_id, key) = (
    SELECT account_id, key FROM idempotency_keys
    WHERE account_id = $1 AND fingerprint = $2 AND joinable_until > clock_timestamp()
      AND (state = 'running' OR answer IS NOT NULL)
    ORDER BY joinable_until LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING key`;

const UNJOIN = `
  UPDATE idempotency_keys SET joinable_until = clock_timestamp() + ${JOINABLE}
  WHERE account_id = $1 AND key = $2`;

/** $4 for how many ms nobody may have waited for it. */
const IS_WANTED = `
  SELECT FROM idempotency_keys WHERE account_id = $1 AND key = $2 AND generation_id = $3
    AND (joinable_until IS NULL
      OR joinable_until > clock_timestamp() + ${JOINABLE} - $4 * interval '1 millisecond')`;

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
    // released between the two statements: the caller hears "in progress" and tries again
    return (
      (await this.read(claim)) ?? {
        state: 'running',
        fingerprint: claim.fingerprint,
        generationId: '',
        statusCode: null,
        answer: null,
      }
    );
  }

  /** The use of a name; undefined when there is none. */
  async read({ accountId, key }: KeptName): Promise<IdempotencyRow | undefined> {
    const { rows } = await this.#pool.query({
      name: 'idempotency_read',
      text: READ,
      values: [accountId, key],
    });
    const [row] = rows;
    return (
      row && {
        state: row.state,
        fingerprint: row.fingerprint,
        generationId: row.generation_id,
        statusCode: row.status_code,
        answer: row.answer,
      }
    );
  }

  /** Keeps a call that goes on though its client left, so that a retry can join it. */
  async leave({ accountId, key, fingerprint, requestId, generationId }: IdempotencyClaim): Promise<void> {
    const values = [accountId, key, fingerprint, requestId, generationId];
    await this.#pool.query({ name: 'idempotency_leave', text: LEAVE, values });
  }

  /** Takes a call that was left within the last minute for the only retry that gets its answer; undefined when there is none. */
  async join(accountId: string, fingerprint: string): Promise<KeptName | undefined> {
    const values = [accountId, fingerprint];
    const { rows } = await this.#pool.query({ name: 'idempotency_join', text: JOIN, values });
    return rows[0] && { accountId, key: rows[0].key };
  }

  /** The retry has left as well: the next one may join. */
  async unjoin({ accountId, key }: KeptName): Promise<void> {
    await this.#pool.query({ name: 'idempotency_unjoin', text: UNJOIN, values: [accountId, key] });
  }

  /** Whether a retry waits for a call that was left, or one may come: somebody waited within the last `graceMs`. */
  async isWanted({ accountId, key, generationId }: IdempotencyClaim, graceMs: number): Promise<boolean> {
    const values = [accountId, key, generationId, graceMs];
    const { rowCount } = await this.#pool.query({ name: 'idempotency_is_wanted', text: IS_WANTED, values });
    return rowCount === 1;
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
