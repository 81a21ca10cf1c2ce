import type pg from 'pg';
import type { AuditedAct } from '../ledger/ledger.types.ts';
import { jsonParameter, run } from '../store/statement.ts';
import {
  insertWorkerToken,
  listWorkerTokens,
  revokeWorkerToken,
  useWorkerTokens,
} from './worker-tokens.sql.ts';

/** A token as shown to operators, without the secret, which cannot be shown again. */
export interface WorkerTokenRow {
  readonly id: string;
  readonly name: string;
  readonly pools: readonly string[];
  readonly created_by: string;
  readonly created_at: Date;
  /** Accurate to the minute. */
  readonly last_used_at: Date | null;
  readonly revoked_at: Date | null;
}

/** The access that a valid token gives. */
export interface OpenedToken {
  readonly id: string;
  readonly name: string;
  readonly pools: readonly string[];
}

const LISTED_MAX = 1_000;

export class WorkerTokensStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Inserts a token. Returns undefined when an active token has that name. */
  async insert(
    token: { id: string; name: string; hash: string; pools: readonly string[] },
    act: AuditedAct,
  ): Promise<WorkerTokenRow | undefined> {
    const values = [token.id, token.name, token.hash, token.pools, act.actor, jsonParameter(act)];
    const [row] = await run<WorkerTokenRow>(this.#pool, insertWorkerToken, values);
    return row;
  }

  /** Lists tokens, newest first, including revoked ones. */
  async list(): Promise<WorkerTokenRow[]> {
    return await run<WorkerTokenRow>(this.#pool, listWorkerTokens, [LISTED_MAX]);
  }

  /** Revokes a token. Returns undefined when no active token has that name. */
  async revoke(name: string, act: AuditedAct): Promise<WorkerTokenRow | undefined> {
    const [row] = await run<WorkerTokenRow>(this.#pool, revokeWorkerToken, [name, jsonParameter(act)]);
    return row;
  }

  /** Returns the tokens with those hashes that are not revoked, by hash. Records their last use. */
  async use(hashes: readonly string[]): Promise<ReadonlyMap<string, OpenedToken>> {
    type Row = { id: string; hash: string; name: string; pools: string[] };
    const rows = await run<Row>(this.#pool, useWorkerTokens, [hashes]);
    return new Map(rows.map(({ id, hash, name, pools }) => [hash, { id, name, pools }]));
  }
}
