import type pg from 'pg';
import { AppError } from '../lib/errors.ts';
import { forEachIsolated } from '../lib/for-each-isolated.ts';
import { publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { jsonParameter, run } from '../store/statement.ts';
import { archivedSince } from './call-archives.sql.ts';
import {
  accountsToClose,
  closeMonths,
  createPartitions,
  finalizeInvoices,
  reissueStatements,
} from './ledger.sql.ts';
import type { AuditedAct, Violation } from './ledger.types.ts';
import { sealEntries } from './seal-entries.ts';
import type { StatementProof } from './statement-proof.ts';

/** Accounts whose months are proven by one statement. */
const ACCOUNTS_AT_ONCE = 100;
/** Accounts closed at the same time: half of the money pool of a worker with default settings. */
const CLOSED_TOGETHER = 2;
const PARTITION_MONTHS_AHEAD = 3;

/** Issues documents for the closed statements of an account before they become final. A document already issued stays as it is. */
export interface StatementIssuer {
  issueOpen(accountId: string): Promise<void>;
}

export interface CloseReport {
  /** Number of statements made. */
  readonly statements: number;
  /** Accounts left with a month that is over but not final. The log has the reasons; the next run tries again. */
  readonly failed: number;
}

/** Turns months that are over into statements, and creates partitions for the months to come. */
export class MonthClose {
  readonly #pool: pg.Pool;
  readonly #proof: StatementProof;
  readonly #issuer: StatementIssuer;
  readonly #log: Logger;

  constructor(pool: pg.Pool, proof: StatementProof, issuer: StatementIssuer, log: Logger) {
    this.#pool = pool;
    this.#proof = proof;
    this.#issuer = issuer;
    this.#log = log;
  }

  /**
   * Closes every month that is due, account by account. A statement becomes final when it is proven, and stays open for a human
   * when it cannot be. A failing account holds up no other. Ends early when `signal` aborts; the next run continues. Throws
   * Postgres errors when nothing succeeds any more.
   */
  async closeDueMonths(signal?: AbortSignal): Promise<CloseReport> {
    let [statements, failed] = [0, 0];
    const close = async (id: string) => {
      // before taking the account's lock, so that only the most recent entries remain to be sealed under it
      await sealEntries(this.#pool, id);
      const [row] = await run<{ closed: number }>(this.#pool, closeMonths, [id]);
      statements += row?.closed ?? 0;
    };
    for (let after: string | null = null; !signal?.aborted; ) {
      const rows: { id: string }[] = await run(this.#pool, accountsToClose, [after, ACCOUNTS_AT_ONCE]);
      const accounts = rows.map(({ id }) => id);
      const closed = await this.#each(accounts, close, signal);
      failed += accounts.length - (await this.#finalize(closed, signal)).length;
      after = accounts.at(-1) ?? null;
      if (accounts.length < ACCOUNTS_AT_ONCE) {
        break;
      }
    }
    return { statements, failed };
  }

  /**
   * Reissues the statement of a closed month, and of each later month that no longer follows from it; the earlier versions become void.
   * Returns how many were made: 0 when the month is not closed. Throws AppError invalid_request while calls of this or a later month are
   * archived, because the statements could not be proven.
   */
  async reissue(accountId: string, month: Date, reason: string, act: AuditedAct): Promise<number> {
    const archived = await run<{ month: string }>(this.#pool, archivedSince, [month]);
    if (archived.length > 0) {
      const months = archived.map((row) => row.month).join(', ');
      throw new AppError(
        'invalid_request',
        `The calls of ${months} are archived: run \`tollgate archive restore\` first.`,
      );
    }
    const values = [accountId, month, reason, jsonParameter(act)];
    const [row] = await run<{ made: number }>(this.#pool, reissueStatements, values);
    const made = row?.made ?? 0;
    if (made > 0) {
      await this.#finalize([accountId]);
    }
    return made;
  }

  /** Creates the partitions of this month and the next three. Returns how many were new. */
  async createPartitions(): Promise<number> {
    const [row] = await run<{ made: string }>(this.#pool, createPartitions, [PARTITION_MONTHS_AHEAD]);
    return Number(row?.made ?? 0);
  }

  /**
   * Proves the accounts' statements, together or else one by one, and makes them final. Returns the accounts whose statements are final.
   */
  async #finalize(accounts: readonly string[], signal?: AbortSignal): Promise<readonly string[]> {
    let proof: ReadonlyMap<string, readonly Violation[]> | undefined;
    try {
      proof = await this.#proof.prove(accounts);
    } catch (error) {
      this.#log.warn(
        { accounts: accounts.length, error },
        'statements could not be proven together, proving them one by one',
      );
    }
    const left = new Set<string>();
    const finalize = async (id: string) => {
      const violations = (proof ?? (await this.#proof.prove([id]))).get(id);
      if (violations) {
        left.add(id);
        const accountId = publicId('account', id);
        this.#log.error({ accountId, violations }, 'statement left open: it does not add up');
      } else {
        await this.#issuer.issueOpen(id);
        await run(this.#pool, finalizeInvoices, [id]);
      }
    };
    const done = await this.#each(accounts, finalize, signal);
    return done.filter((id) => !left.has(id));
  }

  #each(
    accounts: readonly string[],
    work: (id: string) => Promise<void>,
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    return forEachIsolated(accounts, work, {
      together: CLOSED_TOGETHER,
      signal,
      onFailure: (id, error) =>
        this.#log.error({ accountId: publicId('account', id), error }, 'an account could not be closed'),
    });
  }
}
