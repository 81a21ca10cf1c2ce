import type pg from 'pg';
import { eachApart } from '../lib/each-apart.ts';
import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { run } from '../store/statement.ts';
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

/** Their months are proven by one statement. */
const ACCOUNTS_AT_ONCE = 100;
/** Half of the money pool of a worker with default settings. */
const CLOSED_TOGETHER = 2;
const PARTITION_MONTHS_AHEAD = 3;

/** Puts the closed statements of an account on paper before they become final; one that was issued stays as it is. */
export interface StatementIssuer {
  issueOpen(accountId: string): Promise<void>;
}

export interface CloseReport {
  /** Statements made. */
  readonly statements: number;
  /** Accounts left with a month that is over and not final: the log has the reasons, the next run tries again. */
  readonly failed: number;
}

/** Turns months that are over into statements, and makes room for the months to come. */
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
   * Closes every month that is due, account by account; a statement becomes final when it is proven, and stays open for a human when it
   * cannot be. An account that fails holds up no other. Ends early when `signal` aborts: the next run goes on. Throws what
   * Postgres throws when nothing succeeds any more.
   */
  async closeDueMonths(signal?: AbortSignal): Promise<CloseReport> {
    let [statements, failed] = [0, 0];
    const close = async (id: string) => {
      // before the account's lock is taken: under it, only what has come since is left to seal
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
   * States a closed month again, and each later one that no longer follows; the statements before become void. Returns how many were
   * made: 0 when the month is not closed. Throws AppError invalid_request while calls of it, or of a later month, are archived: they could
   * not be proven.
   */
  async reissue(accountId: string, month: Date, reason: string, act: AuditedAct): Promise<number> {
    const archived = await run<{ month: string }>(this.#pool, archivedSince, [month]);
    if (archived.length > 0) {
      const months = archived.map((row) => row.month).join(', ');
      throw new AppError(
        'invalid_request',
        `The calls of ${months} are archived: \`tollgate archive restore\` first.`,
      );
    }
    const values = [accountId, month, reason, JSON.stringify(act)];
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

  /** Returns the accounts whose statements are final now. They are proven together, or one after the other where that fails. */
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
    return eachApart(accounts, work, {
      together: CLOSED_TOGETHER,
      signal,
      onFailure: (id, error) =>
        this.#log.error({ accountId: publicId('account', id), error }, 'an account could not be closed'),
    });
  }
}
