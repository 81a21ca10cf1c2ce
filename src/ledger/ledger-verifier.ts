import type pg from 'pg';
import { forEachIsolated } from '../lib/for-each-isolated.ts';
import { jsonParameter, run } from '../store/statement.ts';
import type { BookRoots } from './book-roots.ts';
import { INVARIANTS, invariantValues } from './invariants.sql.ts';
import type { Violation } from './ledger.types.ts';
import {
  accountsToCheck,
  accountsToSeal,
  advanceWatermark,
  latestChecks,
  recordCheck,
  sealAuditLog,
  tailViolations,
} from './ledger-checks.sql.ts';
import { inSnapshot, PROOF_TIMEOUT_MS } from './proof-snapshot.ts';
import { sealEntries } from './seal-entries.ts';

/** A stored check. Ages are in seconds. */
export interface LastCheck extends pg.QueryResultRow {
  readonly kind: 'full' | 'nightly' | 'incremental';
  readonly at: Date;
  readonly age_seconds: number;
  readonly accounts: string;
  readonly violations: number;
  readonly duration_ms: number;
}

export interface VerifyReport {
  readonly ok: boolean;
  /** Number of invariants checked. */
  readonly checked: number;
  readonly violations: readonly Violation[];
  readonly durationMs: number;
}

/** A broken book can be broken in every row; this many violations are enough to see it. */
const VIOLATIONS_MAX = 100;
/** Accounts proven in one incremental round; the rest follow in the next. */
const ACCOUNTS_PER_ROUND = 1_000;

/** Returns the rows of an invariant as violations, at most VIOLATIONS_MAX: spreading more into a call could overflow the stack. */
export function violationsOfRows(
  { claim }: Pick<Violation, 'claim'>,
  rows: readonly { readonly object: string; readonly detail: string }[],
): Violation[] {
  return rows.slice(0, VIOLATIONS_MAX).map(({ object, detail }) => ({ claim, object, detail }));
}

/** Proves the books: checks every invariant in one read-only snapshot. */
export class LedgerVerifier {
  readonly #pool: pg.Pool;
  readonly #roots: Pick<BookRoots, 'compare'> | undefined;

  constructor(pool: pg.Pool, roots?: Pick<BookRoots, 'compare'>) {
    this.#pool = pool;
    this.#roots = roots;
  }

  /** Returns the newest check of each kind, whichever process ran it. */
  async lastChecks(): Promise<LastCheck[]> {
    return await run<LastCheck>(this.#pool, latestChecks, []);
  }

  /**
   * Checks one account, or all. Stores the result of a full check for the gauges. Only a full check compares the files outside the
   * database. Throws Postgres errors and AppError service_unavailable.
   */
  async verify(accountId?: string, onProgress?: (done: number, of: number) => void): Promise<VerifyReport> {
    const startedAt = performance.now();
    const violations = await inSnapshot(this.#pool, 'READ ONLY', async (client) => {
      const found: Violation[] = [];
      for (const [index, invariant] of INVARIANTS.entries()) {
        const values = invariantValues(invariant, accountId ?? null);
        const query = { text: invariant.text, values, query_timeout: PROOF_TIMEOUT_MS };
        const { rows } = await client.query<{ object: string; detail: string }>(query);
        found.push(...violationsOfRows(invariant, rows));
        onProgress?.(index + 1, INVARIANTS.length);
      }
      return found.slice(0, VIOLATIONS_MAX);
    });
    const roots = accountId === undefined ? this.#roots : undefined;
    violations.push(...((await roots?.compare()) ?? []));
    const durationMs = Math.round(performance.now() - startedAt);
    if (accountId === undefined) {
      await this.#record('full', 0, violations, durationMs);
    }
    return {
      ok: violations.length === 0,
      checked: INVARIANTS.length + (roots ? 1 : 0),
      violations,
      durationMs,
    };
  }

  /**
   * Proves what was booked since each account was last proven: cheap enough to run every minute. An account that does not add up
   * keeps its watermark and is reported again until it does. Returns the number of accounts checked. Rethrows a Postgres error of
   * one account after all others were proven.
   */
  async verifyIncrement(): Promise<{ accounts: number; violations: readonly Violation[] }> {
    const startedAt = performance.now();
    const accounts = await run<{ id: string }>(this.#pool, accountsToCheck, [ACCOUNTS_PER_ROUND]);
    const violations: Violation[] = [];
    const failures: unknown[] = [];
    const verifyTail = async ({ id }: { id: string }) => {
      violations.push(...(await this.#verifyTail(id)).slice(0, VIOLATIONS_MAX));
    };
    await forEachIsolated(accounts, verifyTail, { onFailure: (_, error) => failures.push(error) });
    const shown = violations.slice(0, VIOLATIONS_MAX);
    await this.#record('incremental', accounts.length, shown, Math.round(performance.now() - startedAt));
    await this.seal();
    throwFirst(failures);
    return { accounts: accounts.length, violations: shown };
  }

  /**
   * Seals what was booked and audited since the last time, so that later edits are noticed. Returns the number of entries. Rethrows a
   * Postgres error of one account after all others were sealed.
   */
  async seal(): Promise<number> {
    let sealed = 0;
    const failures: unknown[] = [];
    const accounts = await run<{ id: string }>(this.#pool, accountsToSeal, [ACCOUNTS_PER_ROUND]);
    const seal = async ({ id }: { id: string }) => {
      sealed += await sealEntries(this.#pool, id);
    };
    await forEachIsolated(accounts, seal, { onFailure: (_, error) => failures.push(error) });
    await run(this.#pool, sealAuditLog, []);
    throwFirst(failures);
    return sealed;
  }

  #verifyTail(accountId: string): Promise<Violation[]> {
    return inSnapshot(this.#pool, 'READ WRITE', async (client) => {
      const found = await run<Violation & Record<string, unknown>>(client, tailViolations, [accountId]);
      if (found.length === 0) {
        await run(client, advanceWatermark, [accountId]);
      }
      return found;
    });
  }

  async #record(
    kind: string,
    accounts: number,
    violations: readonly Violation[],
    durationMs: number,
  ): Promise<void> {
    await run(this.#pool, recordCheck, [kind, accounts, jsonParameter(violations), durationMs]);
  }
}

function throwFirst(failures: readonly unknown[]): void {
  if (failures.length > 0) {
    throw failures[0];
  }
}
