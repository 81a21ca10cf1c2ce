import type { AuditedAct } from '../ledger/ledger.types.ts';
import { AppError } from '../lib/errors.ts';
import { newUuid } from '../lib/ids.ts';
import { newWorkerSecret, workerSecretHash } from './worker-authenticator.ts';
import type { WorkerTokenRow, WorkerTokensStore } from './worker-tokens.store.ts';

export interface CreatedWorkerToken {
  readonly row: WorkerTokenRow;
  /** The secret, which is shown only once. */
  readonly secret: string;
}

/** Manages the tokens of workers on hosts without a database. */
export class WorkerTokensService {
  readonly #store: Pick<WorkerTokensStore, 'insert' | 'list' | 'revoke'>;
  readonly #pools: () => readonly string[];

  /** `pools` returns the pools of the current catalog. */
  constructor(store: Pick<WorkerTokensStore, 'insert' | 'list' | 'revoke'>, pools: () => readonly string[]) {
    this.#store = store;
    this.#pools = pools;
  }

  list(): Promise<WorkerTokenRow[]> {
    return this.#store.list();
  }

  /** Creates a token. Throws AppError invalid_parameter for an unknown pool, key_in_use for a name that is taken. */
  async create(name: string, pools: readonly string[], act: AuditedAct): Promise<CreatedWorkerToken> {
    const unknown = pools.find((pool) => !this.#pools().includes(pool));
    if (unknown !== undefined) {
      throw new AppError('invalid_parameter', `pools: tollgate.yaml has no engine ${unknown}`);
    }
    const secret = newWorkerSecret();
    const token = { id: newUuid(), name, hash: workerSecretHash(secret), pools: [...new Set(pools)] };
    const row = await this.#store.insert(token, act);
    if (!row) {
      throw new AppError('key_in_use', `a token named ${name} is in use: revoke it or choose another name`);
    }
    return { row, secret };
  }

  /** Revokes a token. Calls with it are rejected from now on. Throws AppError key_not_found. */
  async revoke(name: string, act: AuditedAct): Promise<WorkerTokenRow> {
    const row = await this.#store.revoke(name, act);
    if (!row) {
      throw new AppError('key_not_found', 'No active token has that name.');
    }
    return row;
  }
}
