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
  /** When the person proved who they are; null: when the session was created. */
  readonly proven_at: Date | null;
}

export interface SessionSummaryRow extends Omit<SessionRow, 'account_id' | 'proven_at'> {
  readonly key_name: string;
  readonly seen_at: Date;
  readonly user_agent: string;
  readonly address: string;
}

type OpenedSession = Pick<SessionRow, 'id' | 'created_at' | 'ends_at' | 'proven_at'>;

export interface NewSession {
  readonly id: string;
  readonly tokenHash: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Maximum duration in hours. */
  readonly hours: number;
  readonly userAgent: string;
  readonly address: string;
  /** Maximum number of sessions of the key, including this one. */
  readonly most: number;
  /** When the person proved who they are; null: now. */
  readonly provenAt: Date | null;
}

/** Selects the sessions of a key or of the whole account. */
export interface SessionScope {
  readonly accountId: string;
  readonly keyHash: string | null;
}

/** Stores the sessions of browsers, by the hash of their cookie. */
export class SessionsStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Ends the oldest sessions of the key when it has too many. */
  async insert(session: NewSession): Promise<OpenedSession> {
    const { id, tokenHash, accountId, apiKeyId, hours, userAgent, address, most, provenAt } = session;
    const values = [id, tokenHash, accountId, apiKeyId, hours, userAgent, address, most, provenAt];
    const [row] = await run<SessionRow>(this.#cells.of(accountId).money, insertConsoleSession, values);
    return row as SessionRow;
  }

  /** Continues a session as a new one with the same times. Returns undefined when it has ended. */
  async move(
    id: string,
    to: Pick<NewSession, 'id' | 'tokenHash' | 'accountId' | 'apiKeyId'>,
  ): Promise<OpenedSession | undefined> {
    const values = [id, to.id, to.tokenHash, to.accountId, to.apiKeyId];
    // one statement needs one cell: if the accounts were in two, this would be an insert there and a delete here
    return (await run<SessionRow>(this.#cells.sole.money, moveConsoleSession, values))[0];
  }

  async find(tokenHash: string): Promise<SessionRow | undefined> {
    return (
      await inAll(this.#cells, ({ money }) => run<SessionRow>(money, findConsoleSession, [tokenHash]))
    )[0];
  }

  /** Lists sessions, newest first, without ended ones. */
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
