import type pg from 'pg';
import { type Cells, inAll } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import {
  deleteConsoleSessions,
  findConsoleSession,
  insertConsoleSession,
  listConsoleSessions,
  moveConsoleSession,
} from './sessions.sql.ts';

export interface SessionRow extends pg.QueryResultRow {
  readonly id: string;
  readonly account_id: string;
  readonly key_hash: string;
  readonly created_at: Date;
  readonly ends_at: Date;
}

export interface SessionSummaryRow extends Omit<SessionRow, 'account_id'> {
  readonly key_name: string;
  readonly seen_at: Date;
  readonly user_agent: string;
  readonly address: string;
}

export interface NewSession {
  readonly id: string;
  readonly tokenHash: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Hours it lasts at most. */
  readonly hours: number;
  readonly userAgent: string;
  readonly address: string;
}

/** Whose sessions are meant: of a key, or of the whole account. */
export interface SessionScope {
  readonly accountId: string;
  readonly keyHash: string | null;
}

/** Sessions of browsers, by the hash of their cookie. */
export class SessionsStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async insert(session: NewSession): Promise<Pick<SessionRow, 'id' | 'created_at' | 'ends_at'>> {
    const { id, tokenHash, accountId, apiKeyId, hours, userAgent, address } = session;
    const values = [id, tokenHash, accountId, apiKeyId, hours, userAgent, address];
    const [row] = await run<SessionRow>(this.#cells.of(accountId).money, insertConsoleSession, values);
    return row as SessionRow;
  }

  /** The session goes on as another one, with its times. Undefined when it has ended. */
  async move(
    id: string,
    to: Pick<NewSession, 'id' | 'tokenHash' | 'accountId' | 'apiKeyId'>,
  ): Promise<Pick<SessionRow, 'id' | 'created_at' | 'ends_at'> | undefined> {
    const values = [id, to.id, to.tokenHash, to.accountId, to.apiKeyId];
    // one statement, though the accounts may lie in two cells: then it is a new session there, and an end here
    return (await run<SessionRow>(this.#cells.sole.money, moveConsoleSession, values))[0];
  }

  async find(tokenHash: string): Promise<SessionRow | undefined> {
    return (
      await inAll(this.#cells, ({ money }) => run<SessionRow>(money, findConsoleSession, [tokenHash]))
    )[0];
  }

  /** Newest first, ended ones left out. */
  list(scope: SessionScope, limit: number, beforeId: string | null): Promise<SessionSummaryRow[]> {
    const values = [scope.accountId, scope.keyHash, beforeId, limit];
    return run<SessionSummaryRow>(this.#cells.of(scope.accountId).money, listConsoleSessions, values);
  }

  /** Ends one session or all of them. Returns the hashes of their cookies. */
  async delete(scope: SessionScope, id: string | null): Promise<string[]> {
    const values = [scope.accountId, scope.keyHash, id];
    const rows = await run<{ token_hash: string }>(
      this.#cells.of(scope.accountId).money,
      deleteConsoleSessions,
      values,
    );
    return rows.map((row) => row.token_hash);
  }
}
