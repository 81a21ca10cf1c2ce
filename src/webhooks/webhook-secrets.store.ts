import type pg from 'pg';
import { findSecret, insertSecret, rotateSecret } from '../store/sql/webhooks/secrets.ts';
import { run } from '../store/statement.ts';

export interface SealedSecrets {
  readonly secret: Buffer;
  readonly previousSecret: Buffer | null;
  readonly rotatedAt: Date;
}

/** Sealed signing secrets, one per account. */
export class WebhookSecretsStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async find(accountId: string): Promise<SealedSecrets | undefined> {
    const [row] = await run<{ secret: Buffer; previous_secret: Buffer | null; rotated_at: Date }>(
      this.#pool,
      findSecret,
      [accountId],
    );
    return row && { secret: row.secret, previousSecret: row.previous_secret, rotatedAt: row.rotated_at };
  }

  /** Stores the first secret of an account, unless it has one by now. */
  async insert(accountId: string, sealed: Buffer): Promise<void> {
    await run(this.#pool, insertSecret, [accountId, sealed]);
  }

  /** Makes the current secret the previous one. */
  async rotate(accountId: string, sealed: Buffer): Promise<void> {
    await run(this.#pool, rotateSecret, [accountId, sealed]);
  }
}
