import type pg from 'pg';
import { INVARIANTS } from '../store/sql/invariants.ts';

export interface Violation {
  /** What should be true, beginning with the invariant's number. */
  readonly claim: string;
  /** Id of the row that breaks it. */
  readonly object: string;
  readonly detail: string;
}

export interface VerifyReport {
  readonly ok: boolean;
  /** Invariants checked. */
  readonly checked: number;
  readonly violations: readonly Violation[];
  readonly durationMs: number;
}

/** A broken book can break in every row; this many say enough. */
const VIOLATIONS_MAX = 100;
/** Verifying millions of entries takes longer than a request may. */
const VERIFY_TIMEOUT_MS = 300_000;

/** Proves the books: every invariant in one read-only snapshot. */
export class LedgerVerifier {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Checks one account, or all. `onProgress` hears how many invariants are done. Throws what Postgres throws. */
  async verify(accountId?: string, onProgress?: (done: number, of: number) => void): Promise<VerifyReport> {
    const startedAt = performance.now();
    const violations: Violation[] = [];
    const client = await this.#pool.connect();
    try {
      // One snapshot for all queries: money that moves meanwhile must not look like money that is missing.
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      await client.query(`SET LOCAL statement_timeout = ${VERIFY_TIMEOUT_MS}`);
      await client.query(`SET LOCAL work_mem = '64MB'`);
      for (const [index, invariant] of INVARIANTS.entries()) {
        const query = { text: invariant.text, values: [accountId ?? null], query_timeout: VERIFY_TIMEOUT_MS };
        const { rows } = await client.query<{ object: string; detail: string }>(query);
        violations.push(
          ...rows.map((row) => ({ claim: invariant.claim, object: row.object, detail: row.detail })),
        );
        onProgress?.(index + 1, INVARIANTS.length);
      }
    } finally {
      await client.query('ROLLBACK').then(
        () => client.release(),
        (error: Error) => client.release(error),
      );
    }
    return {
      ok: violations.length === 0,
      checked: INVARIANTS.length,
      violations: violations.slice(0, VIOLATIONS_MAX),
      durationMs: Math.round(performance.now() - startedAt),
    };
  }
}
