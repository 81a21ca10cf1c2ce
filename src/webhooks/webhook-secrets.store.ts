import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import { findSecret, insertSecret, listSecrets, resealSecret, rotateSecret } from './webhook-secrets.sql.ts';

export interface SealedPair {
  readonly secret: Buffer;
  readonly previousSecret: Buffer | null;
}

export interface SealedSecrets extends SealedPair {
  readonly rotatedAt: Date;
}

/** Sealed signing secrets, one per account. */
export class WebhookSecretsStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(accountId: string): Promise<SealedSecrets | undefined> {
    const [row] = await run<{ secret: Buffer; previous_secret: Buffer | null; rotated_at: Date }>(
      this.#cells.of(accountId).money,
      findSecret,
      [accountId],
    );
    return row && { secret: row.secret, previousSecret: row.previous_secret, rotatedAt: row.rotated_at };
  }

  /** Stores an account's first secret, unless it already has one. */
  async insert(accountId: string, sealed: Buffer): Promise<void> {
    await run(this.#cells.of(accountId).money, insertSecret, [accountId, sealed]);
  }

  /** Returns the secrets of up to `limit` accounts after the given one, in order of their ids. */
  async listAfter(
    accountId: string,
    limit: number,
  ): Promise<(SealedPair & { readonly accountId: string })[]> {
    const rows = await run<{ account_id: string; secret: Buffer; previous_secret: Buffer | null }>(
      this.#cells.sole.money,
      listSecrets,
      [accountId, limit],
    );
    return rows.map((row) => ({
      accountId: row.account_id,
      secret: row.secret,
      previousSecret: row.previous_secret,
    }));
  }

  /** Replaces the secrets read as `from`, unless they were rotated meanwhile. */
  async reseal(accountId: string, from: SealedPair, to: SealedPair): Promise<void> {
    await run(this.#cells.of(accountId).money, resealSecret, [
      accountId,
      from.secret,
      to.secret,
      to.previousSecret,
    ]);
  }

  /** Makes the current secret the previous one. */
  async rotate(accountId: string, sealed: Buffer): Promise<void> {
    await run(this.#cells.of(accountId).money, rotateSecret, [accountId, sealed]);
  }
}
