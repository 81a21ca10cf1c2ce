import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import type { Page, PageQuery } from '../http/answers/page.ts';
import { cutPage } from '../http/answers/page.ts';
import type { KeyCache } from '../http/callers/key-cache.ts';
import type { Principal } from '../http/route.ts';
import type { AuditedAct, NewOwnerKey } from '../ledger/ledger.types.ts';
import type { KeyChanges, Movements } from '../ledger/movements.ts';
import { systemClock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { newOwnedUuid } from '../lib/ids.ts';
import { type NanoUsd, parseUsdNumber } from '../lib/money.ts';
import type { ApiKeyRow } from '../store/models/api-key.model.ts';
import type { CreateKeyBody, UpdateKeyBody } from './keys.schema.ts';
import type { KeysStore } from './keys.store.ts';
import { maskedSecret, newSecret, secretHash } from './secret.ts';

/** Knows which models exist. */
export interface ModelNames {
  /** Throws AppError invalid_parameter for a name that no model has. */
  requireModels(names: readonly string[], field: string, caller: Pick<Principal, 'allowedModels'>): void;
}

export interface CreatedKey {
  readonly row: ApiKeyRow;
  /** Shown once. */
  readonly secret: string;
}

/** Creates, changes and deletes API keys. Foreign and deleted keys cause key_not_found throughout. */
export class KeysService {
  readonly #store: KeysStore;
  readonly #movements: Movements;
  readonly #cache: KeyCache;
  readonly #models: ModelNames;

  constructor(store: KeysStore, movements: Movements, cache: KeyCache, models: ModelNames) {
    this.#store = store;
    this.#movements = movements;
    this.#cache = cache;
    this.#models = models;
  }

  /**
   * Creates a key of an account, for a caller or for an operator, whose `act` is then in the audit log. Throws AppError invalid_parameter for
   * an expiry that has passed and for a model that does not exist, too_many_keys, insufficient_scope for an owner key that a developer asks
   * for.
   */
  async create(
    accountId: string,
    body: CreateKeyBody,
    caller: Pick<Principal, 'allowedModels' | 'member'> = { allowedModels: null },
    act?: AuditedAct,
  ): Promise<CreatedKey> {
    if (body.role === 'owner' && isRestrictedToProgramKeys(caller)) {
      throw beyondDevelopers();
    }
    this.#models.requireModels(body.models ?? [], 'models', caller);
    const secret = newSecret(accountId);
    const limit = toNanoUsd(body.limit ?? null);
    const made = {
      id: newOwnedUuid(accountId),
      accountId,
      hash: requireHash(secret),
      name: body.name,
      label: body.label ?? maskedSecret(secret),
      role: body.role,
      disabled: body.disabled ?? false,
      limitNano: limit?.toString() ?? null,
      limitReset: body.limit_reset ?? null,
      expiresAt: futureDate(body.expires_at ?? null),
      rateLimits: body.rate_limits ?? null,
      allowedModels: body.models ?? null,
    };
    const row = await this.#store.insert(made, act);
    if (!row) {
      throw new AppError(
        'too_many_keys',
        'The account has reached its maximum number of keys: delete keys that are no longer used, or ask the operator to raise max_keys.',
      );
    }
    return { row, secret };
  }

  /** Lists keys, newest first. */
  async list(accountId: string, query: PageQuery): Promise<Page<ApiKeyRow>> {
    const [after] = query.cursor === undefined ? [] : decodeCursor(query.cursor, [UUID_PART]);
    const rows = await this.#store.list(accountId, query.limit + 1, after);
    return cutPage(rows, query.limit, (row) => [row.id]);
  }

  async get(accountId: string, hash: string): Promise<ApiKeyRow> {
    return (await this.#store.find(accountId, hash)) ?? notFound();
  }

  /**
   * Changes a key. Once it returns, no call that contradicts the change can be admitted anywhere. Throws AppError key_in_use,
   * key_not_found, insufficient_scope when a developer changes an owner key or a member's key, invalid_parameter as {@link create} does.
   */
  async update(principal: Principal, hash: string, body: UpdateKeyBody): Promise<ApiKeyRow> {
    if (body.disabled === true && hash === principal.keyHash) {
      throw new AppError('key_in_use', 'A key cannot disable itself.');
    }
    await this.#requireMay(principal, hash);
    this.#models.requireModels(body.models ?? [], 'models', principal);
    const changes: KeyChanges = {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.label !== undefined && { label: body.label }),
      ...(body.disabled !== undefined && { disabled: body.disabled }),
      ...(body.limit !== undefined && { limit: toNanoUsd(body.limit) }),
      ...(body.limit_reset !== undefined && { limitReset: body.limit_reset }),
      ...(body.expires_at !== undefined && { expiresAt: futureDate(body.expires_at) }),
      ...(body.rate_limits !== undefined && { rateLimits: body.rate_limits }),
      ...(body.models !== undefined && { allowedModels: body.models }),
    };
    return this.#change(principal.accountId, hash, changes);
  }

  /** Deletes a key for good; its history stays. Returns its last state. Throws as {@link update} does. */
  async delete(principal: Principal, hash: string): Promise<ApiKeyRow> {
    if (hash === principal.keyHash) {
      throw new AppError('key_in_use', 'A key cannot delete itself.');
    }
    await this.#requireMay(principal, hash);
    return this.#change(principal.accountId, hash, { deleted: true });
  }

  /**
   * Throws AppError insufficient_scope when a developer touches a key that can do more than they can: owner keys, and the keys that
   * people sign in with.
   */
  async #requireMay(principal: Principal, hash: string): Promise<void> {
    if (isRestrictedToProgramKeys(principal)) {
      const row = await this.get(principal.accountId, hash);
      if (row.role === 'owner' || (await this.#store.isMembers(row.account_id, row.id))) {
        throw beyondDevelopers();
      }
    }
  }

  async #change(accountId: string, hash: string, changes: KeyChanges): Promise<ApiKeyRow> {
    const id = await this.#store.idOfHash(accountId, hash);
    const row =
      id === undefined ? undefined : await this.#movements.changeKey<ApiKeyRow>(accountId, id, changes);
    this.#cache.forget(hash);
    return row ?? notFound();
  }
}

function isRestrictedToProgramKeys({ member }: Pick<Principal, 'member'>): boolean {
  return member !== undefined && member.role !== 'owner';
}

function beyondDevelopers(): AppError {
  return new AppError(
    'insufficient_scope',
    'Only an owner can create or change owner keys and the keys of members.',
  );
}

function notFound(): never {
  throw new AppError('key_not_found', 'There is no such key.');
}

/** Returns an owner key to be created together with its account, and its secret. */
export function newOwnerKey(accountId: string): { readonly secret: string; readonly key: NewOwnerKey } {
  const secret = newSecret(accountId);
  const id = newOwnedUuid(accountId);
  const key = { id, hash: requireHash(secret), name: 'owner', label: maskedSecret(secret) };
  return { secret, key };
}

function requireHash(secret: string): string {
  const hash = secretHash(secret);
  if (hash === undefined) {
    throw new Error('a new secret is not well-formed');
  }
  return hash;
}

/** Converts a limit to nano-USD. The schema has already rejected invalid amounts, but undefined is rejected all the same. */
function toNanoUsd(limit: number | null): NanoUsd | null {
  if (limit === null) {
    return null;
  }
  const amount = parseUsdNumber(limit);
  if (amount === undefined) {
    throw new AppError('invalid_parameter', 'limit: must be an amount in USD.');
  }
  return amount;
}

/** Parses RFC 3339 or Unix seconds. Throws AppError invalid_parameter unless the time is in the future. */
function futureDate(time: string | number | null): Date | null {
  if (time === null) {
    return null;
  }
  const date = new Date(typeof time === 'number' ? time * 1_000 : time);
  if (date.getTime() <= systemClock.now()) {
    throw new AppError('invalid_parameter', 'expires_at: must be in the future.');
  }
  return date;
}
