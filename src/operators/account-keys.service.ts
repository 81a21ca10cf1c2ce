import type { Page, PageQuery } from '../http/answers/page.ts';
import type { KeyCache } from '../http/callers/key-cache.ts';
import type { CreateKeyBody } from '../keys/keys.schema.ts';
import type { CreatedKey, KeysService } from '../keys/keys.service.ts';
import type { KeysStore } from '../keys/keys.store.ts';
import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import type { ApiKeyRow } from '../store/models/api-key.model.ts';
import type { AccountsService } from './accounts.service.ts';
import { audited, type OperatorContext } from './operator-access.ts';

export interface AccountKeysParts {
  readonly accounts: Pick<AccountsService, 'get' | 'getOpen'>;
  readonly keys: Pick<KeysService, 'list' | 'create'>;
  readonly store: Pick<KeysStore, 'idOfHash'>;
  readonly movements: Pick<Movements, 'changeKey'>;
  readonly cache: Pick<KeyCache, 'forget'>;
}

/** Manages the keys of an account on behalf of an operator, e.g. to disable a leaked key or replace a lost one. */
export class AccountKeysService {
  readonly #parts: AccountKeysParts;

  constructor(parts: AccountKeysParts) {
    this.#parts = parts;
  }

  /** Lists keys, newest first. `account` is the public id. Throws AppError account_not_found, invalid_cursor. */
  async list(account: string, query: PageQuery): Promise<Page<ApiKeyRow>> {
    const { id } = await this.#parts.accounts.get(account);
    return this.#parts.keys.list(id, query);
  }

  /** Creates a key. Throws AppError account_not_found, invalid_parameter, too_many_keys. */
  async create(account: string, body: CreateKeyBody, act: OperatorContext): Promise<CreatedKey> {
    const { id } = await this.#parts.accounts.getOpen(account);
    return this.#parts.keys.create(id, body, undefined, audited(act, 'key.create', account, {}));
  }

  /**
   * Disables or enables a key. Once this resolves, no paid call with a disabled key is admitted anywhere. Throws AppError
   * account_not_found, key_not_found.
   */
  async setDisabled(
    account: string,
    hash: string,
    disabled: boolean,
    act: OperatorContext,
  ): Promise<ApiKeyRow> {
    const { accounts, store, movements, cache } = this.#parts;
    const { id } = await accounts.get(account);
    const keyId = await store.idOfHash(id, hash);
    const row =
      keyId === undefined
        ? undefined
        : await movements.changeKey<ApiKeyRow>(
            id,
            keyId,
            { disabled },
            audited(act, disabled ? 'key.disable' : 'key.enable', account, { hash }),
          );
    cache.forget(hash);
    if (!row) {
      throw new AppError('key_not_found', 'There is no such key.');
    }
    return row;
  }
}
