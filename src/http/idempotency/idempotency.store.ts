import type pg from 'pg';
import type { Cells } from '../../store/cells.ts';
import { run } from '../../store/statement.ts';
import {
  claimIdempotencyKey,
  completeIdempotencyKey,
  expireIdempotencyKeys,
  isCallWanted,
  joinCall,
  leaveCall,
  readIdempotencyKey,
  releaseIdempotencyKey,
  renewIdempotencyKey,
  replaceEndedGeneration,
  unjoinCall,
} from './idempotency.sql.ts';

/** The name that a call is stored under. */
export interface KeptName {
  readonly accountId: string;
  readonly key: string;
}

/** One use of an Idempotency-Key. */
export interface IdempotencyClaim extends KeptName {
  /** SHA-256 hex of the API key's id, method, path and body: another key of the account is rejected and never gets this one's answer. */
  readonly fingerprint: string;
  readonly requestId: string;
  readonly generationId: string;
}

export interface IdempotencyRow {
  /** `fresh`: this caller runs the call. The others describe an earlier use; `dead` means that its process died. */
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

interface GenerationRow {
  readonly generation_id: string;
}

interface KeyRow extends GenerationRow {
  readonly state: IdempotencyRow['state'];
  readonly fingerprint: string;
  readonly status_code: number | null;
  readonly answer: Buffer | null;
}

const EXPIRED_PER_STATEMENT = 5_000;

/** Stores the uses of Idempotency-Keys in Postgres: they outlive a process, and every replica sees them. */
export class IdempotencyStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Claims the key, or returns the earlier use that holds it. */
  async claim(claim: IdempotencyClaim): Promise<IdempotencyRow> {
    const values = [claim.accountId, claim.key, claim.fingerprint, claim.requestId, claim.generationId];
    const [claimed] = await run<GenerationRow>(
      this.#cells.of(claim.accountId).money,
      claimIdempotencyKey,
      values,
    );
    if (claimed) {
      return {
        state: 'fresh',
        fingerprint: claim.fingerprint,
        generationId: await this.#usableGeneration(claim, claimed.generation_id),
        statusCode: null,
        answer: null,
      };
    }
    // the key was released between the two statements: the caller gets "in progress" and retries
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

  /** Returns the generation that a claim runs as: its own, or that of the process that died with the key. */
  async #usableGeneration({ accountId, key, generationId }: IdempotencyClaim, kept: string): Promise<string> {
    if (kept === generationId) {
      return kept;
    }
    const values = [accountId, key, kept, generationId];
    const [replaced] = await run<GenerationRow>(
      this.#cells.of(accountId).money,
      replaceEndedGeneration,
      values,
    );
    return replaced?.generation_id ?? kept;
  }

  /** Returns the use of a name; undefined when there is none. */
  async read({ accountId, key }: KeptName): Promise<IdempotencyRow | undefined> {
    const [row] = await run<KeyRow>(this.#cells.of(accountId).money, readIdempotencyKey, [accountId, key]);
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

  /** Stores a call that continues after its client left, so that a retry can join it. */
  async leave({ accountId, key, fingerprint, requestId, generationId }: IdempotencyClaim): Promise<void> {
    const values = [accountId, key, fingerprint, requestId, generationId];
    await run(this.#cells.of(accountId).money, leaveCall, values);
  }

  /**
   * Joins a call that was left within the last minute to this retry, the only one that gets its answer. Returns undefined when there is
   * none.
   */
  async join(accountId: string, fingerprint: string): Promise<KeptName | undefined> {
    const values = [accountId, fingerprint];
    const [row] = await run<{ key: string }>(this.#cells.of(accountId).money, joinCall, values);
    return row && { accountId, key: row.key };
  }

  /** Lets the next retry join, after this one left as well. */
  async unjoin({ accountId, key }: KeptName): Promise<void> {
    await run(this.#cells.of(accountId).money, unjoinCall, [accountId, key]);
  }

  /** Returns whether a retry waits for a call whose client left, or may still come because one waited within the last `graceMs`. */
  async isWanted({ accountId, key, generationId }: IdempotencyClaim, graceMs: number): Promise<boolean> {
    const values = [accountId, key, generationId, graceMs];
    return (await run(this.#cells.of(accountId).money, isCallWanted, values)).length === 1;
  }

  async renew(claim: IdempotencyClaim): Promise<void> {
    const values = [claim.accountId, claim.key, claim.generationId];
    await run(this.#cells.of(claim.accountId).money, renewIdempotencyKey, values);
  }

  async complete(claim: IdempotencyClaim, answer: StoredAnswer): Promise<void> {
    const values = [claim.accountId, claim.key, claim.generationId, answer.statusCode, answer.sealed];
    await run(this.#cells.of(claim.accountId).money, completeIdempotencyKey, values);
  }

  async release(claim: IdempotencyClaim): Promise<void> {
    const values = [claim.accountId, claim.key, claim.generationId];
    await run(this.#cells.of(claim.accountId).money, releaseIdempotencyKey, values);
  }

  /** Deletes keys older than a day, in bounded statements. Returns their number. */
  async expire(): Promise<number> {
    let expired = 0;
    for (const { money } of this.#cells.all()) {
      expired += await expireIn(money);
    }
    return expired;
  }
}

async function expireIn(pool: pg.Pool): Promise<number> {
  let expired = 0;
  for (;;) {
    const values = [EXPIRED_PER_STATEMENT];
    const { rowCount } = await pool.query({ ...expireIdempotencyKeys, values });
    expired += rowCount ?? 0;
    if ((rowCount ?? 0) < EXPIRED_PER_STATEMENT) {
      return expired;
    }
  }
}
