import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import { type KeysService, type ModelNames, newOwnerKey } from '../keys/keys.service.ts';
import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId, publicId } from '../lib/ids.ts';
import { formatUsd, ZERO_USD } from '../lib/money.ts';
import type { AccountRow, AccountsReadModel } from './accounts.read-model.ts';
import { audited, type OperatorContext } from './operator-access.ts';
import type { CreateAccountBody, ListAccountsQuery, UpdateAccountBody } from './operators.schema.ts';

/** The minus sign is needed: a balance may be negative. */
const RANK_PART = /^-?\d{1,24}$/;

export interface OpenedAccount {
  readonly row: AccountRow;
  /** Secret of the account's owner key, shown once. */
  readonly secret: string;
}

/** Accounts as operators see them. An operator sees every account, so there is no check of ownership. */
export class AccountsService {
  readonly #readModel: AccountsReadModel;
  readonly #movements: Movements;
  readonly #keys: KeysService;
  readonly #models: ModelNames;

  constructor(readModel: AccountsReadModel, movements: Movements, keys: KeysService, models: ModelNames) {
    this.#readModel = readModel;
    this.#movements = movements;
    this.#keys = keys;
    this.#models = models;
  }

  /**
   * Opens an account with an owner key and, if requested, initial credits, atomically. `id` is the stored id. Opening the same id
   * again (because the first response was lost) only creates another owner key.
   */
  async open(body: CreateAccountBody, act: OperatorContext, id: string): Promise<OpenedAccount> {
    const { secret, key } = newOwnerKey(id);
    const credits = body.credits ?? ZERO_USD;
    const opened = await this.#movements.openCustomer(id, body.name, credits, key, {
      ...audited(act, 'account.create', publicId('account', id), {
        credits: formatUsd(credits),
      }),
      reason: 'grant',
    });
    return {
      row: await this.#require(id),
      secret: opened ? secret : (await this.createOwnerKey(id, act)).secret,
    };
  }

  /** Creates another owner key for an account, given its stored id. */
  createOwnerKey(id: string, act: OperatorContext): Promise<{ readonly secret: string }> {
    const recorded = audited(act, 'key.create', publicId('account', id), {});
    return this.#keys.create(id, { name: 'owner', role: 'owner' }, undefined, recorded);
  }

  async get(id: string): Promise<AccountRow> {
    return this.#require(accountUuid(id));
  }

  /** Returns an account that can be changed. Throws AppError account_not_found, also for one that was erased. */
  async getOpen(id: string): Promise<AccountRow> {
    const row = await this.get(id);
    if (row.erased_at !== null) {
      throw new AppError('account_not_found', 'This account was erased and stays closed: open a new one.');
    }
    return row;
  }

  /** Lists accounts, newest first or by the requested order. Throws AppError invalid_cursor. */
  async list({ q, suspended, sort, limit, cursor }: ListAccountsQuery): Promise<Page<AccountRow>> {
    const filter = {
      name: q ?? null,
      suspended: suspended === undefined ? null : suspended === 'true',
      limit: limit + 1,
    };
    if (sort === 'created_at') {
      const [beforeId = null] = cursor === undefined ? [] : decodeCursor(cursor, [UUID_PART]);
      return cutPage(await this.#readModel.list({ ...filter, beforeId }), limit, (row) => [row.id]);
    }
    const [rank = null, beforeId = null] =
      cursor === undefined ? [] : decodeCursor(cursor, [RANK_PART, UUID_PART]);
    const rows = await this.#readModel.listBy(sort, { ...filter, beforeId }, rank);
    return cutPage(rows, limit, (row) => [row.rank, row.id]);
  }

  /**
   * Changes an account. The change applies to the very next call, everywhere. Throws AppError account_not_found, invalid_parameter for a
   * model that does not exist.
   */
  async update(id: string, body: UpdateAccountBody, act: OperatorContext): Promise<AccountRow> {
    const uuid = accountUuid(id);
    this.#models.requireModels(body.allowed_models ?? [], 'allowed_models', { allowedModels: null });
    const changes = {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.suspended !== undefined && { suspended: body.suspended }),
      ...(body.allowed_models !== undefined && { allowedModels: body.allowed_models }),
      ...(body.max_keys !== undefined && { maxKeys: body.max_keys }),
      ...(body.billing !== undefined && { billing: body.billing }),
      ...(body.rate_limits !== undefined && { rateLimits: body.rate_limits }),
    };
    // personal data stays out of the audit log, which is never erased
    const detail = {
      ...body,
      ...(body.name !== undefined && { name: 'changed' }),
      ...(body.billing !== undefined && { billing: 'changed' }),
    };
    if (!(await this.#movements.changeAccount(uuid, changes, audited(act, 'account.update', id, detail)))) {
      await this.getOpen(id);
      throw accountNotFound();
    }
    return this.#require(uuid);
  }

  /** Closes an account permanently and removes personal data; its books are kept. Throws AppError account_not_found. */
  async erase(id: string, act: OperatorContext): Promise<AccountRow> {
    const uuid = accountUuid(id);
    if (!(await this.#movements.eraseAccount(uuid, audited(act, 'account.erase', id, {})))) {
      throw accountNotFound();
    }
    return this.#require(uuid);
  }

  async #require(uuid: string): Promise<AccountRow> {
    const row = await this.#readModel.find(uuid);
    if (!row) {
      throw accountNotFound();
    }
    return row;
  }
}

/** Parses an account's public id into its stored id. Throws AppError account_not_found. */
export function accountUuid(id: string): string {
  const uuid = parsePublicId('account', id);
  if (uuid === undefined) {
    throw accountNotFound();
  }
  return uuid;
}

function accountNotFound(): AppError {
  return new AppError('account_not_found', 'There is no such account.');
}
