import { newSecret, secretHash } from '../../src/keys/secret.ts';
import { newOwnedUuid } from '../../src/lib/ids.ts';
import type { Database } from '../../src/store/database.ts';

export interface TestKey {
  readonly id: string;
  readonly hash: string;
  readonly secret: string;
}

export interface TestKeyOptions {
  readonly role?: 'owner' | 'inference';
  readonly name?: string;
  /** Nano-USD as decimal text. */
  readonly limitNano?: string;
  readonly disabled?: boolean;
  readonly expiresAt?: Date;
  readonly allowedModels?: readonly string[];
}

/** Inserts a key of an account directly into the database. */
export async function createKey(
  database: Database,
  accountId: string,
  options: TestKeyOptions = {},
): Promise<TestKey> {
  const secret = newSecret(accountId);
  const hash = secretHash(secret) ?? '';
  const id = newOwnedUuid(accountId);
  await database.money.query(
    `INSERT INTO api_keys (id, account_id, hash, name, label, role, disabled, limit_nano, cap_nano, expires_at, allowed_models)
     VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $7, $8, $9)`,
    [
      id,
      accountId,
      hash,
      options.name ?? 'test',
      options.role ?? 'owner',
      options.disabled ?? false,
      options.limitNano ?? null,
      options.expiresAt ?? null,
      options.allowedModels ?? null,
    ],
  );
  return { id, hash, secret };
}
