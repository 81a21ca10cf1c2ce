import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import { type KeysService, newOwnerKey } from '../keys/keys.service.ts';
import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId, publicId } from '../lib/ids.ts';
import { formatUsd, ZERO_USD } from '../lib/money.ts';
import type { AccountRow, AccountsReadModel } from './accounts.read-model.ts';
import { audited, type OperatorAct } from './operator-access.ts';
import type { CreateAccountBody, ListAccountsQuery, UpdateAccountBody } from './operators.schema.ts';

/** A balance may be below zero. */
const RANK_PART = /^-?\d{1,24}$/;

export interface OpenedAccount {
  readonly row: AccountRow;
  /** Secret of its owner key, shown once. */
  readonly secret: string;
}

/** Accounts, as an operator sees them. Foreign ids do not exist here: an operator sees every account. */
export class AccountsService {
  readonly #readModel: AccountsReadModel;
  readonly #movements: Movements;
  readonly #keys: KeysService;

  constructor(readModel: AccountsReadModel, movements: Movements, keys: KeysService) {
    this.#readModel = readModel;
    this.#movements = movements;
    this.#keys = keys;
  }

  /**
   * Opens an account with an owner key and, when asked for, first credits: all of it or nothing. `id` is its stored id; opened
   * twice under the same one (its first answer was lost) it gets another owner key and nothing else.
   */
  async open(body: CreateAccountBody, act: OperatorAct, id: string): Promise<OpenedAccount> {
    const { secret, key } = newOwnerKey(id);
    const credits = body.credits ?? ZERO_USD;
    const opened = await this.#movements.openCustomer(id, body.name, credits, key, {
      ...audited(act, 'account.create', publicId('account', id), {
        credits: formatUsd(credits),
      }),
      reason: 'grant',
    });
    return { row: await this.#require(id), secret: opened ? secret : (await this.createOwnerKey(id)).secret };
  }

  /** One more owner key for an account, by its stored id. */
  createOwnerKey(id: string): Promise<{ readonly secret: string }> {
    return this.#keys.create(id, { name: 'owner', role: 'owner' });
  }

  async get(id: string): Promise<AccountRow> {
    return this.#require(accountUuid(id));
  }

  /** Newest first, or by what is asked for. Throws AppError invalid_cursor. */
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

  /** Changes an account; binds the very next call everywhere. */
  async update(id: string, body: UpdateAccountBody, act: OperatorAct): Promise<AccountRow> {
    const uuid = accountUuid(id);
    const changes = {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.suspended !== undefined && { suspended: body.suspended }),
      ...(body.allowed_models !== undefined && { allowedModels: body.allowed_models }),
      ...(body.max_keys !== undefined && { maxKeys: body.max_keys }),
      ...(body.billing !== undefined && { billing: body.billing }),
      ...(body.rate_limits !== undefined && { rateLimits: body.rate_limits }),
    };
    // who the customer is stays out of the audit log, which forgets nothing
    const detail = {
      ...body,
      ...(body.name !== undefined && { name: 'changed' }),
      ...(body.billing !== undefined && { billing: 'changed' }),
    };
    if (!(await this.#movements.changeAccount(uuid, changes, audited(act, 'account.update', id, detail)))) {
      throw accountNotFound();
    }
    return this.#require(uuid);
  }

  /** Closes an account for good and takes out what tells whose it is; its books stay. Throws AppError account_not_found. */
  async erase(id: string, act: OperatorAct): Promise<AccountRow> {
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

/** The stored form of an account's public id. Throws AppError account_not_found. */
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
