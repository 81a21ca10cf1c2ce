import { decodeCursor, UUID_PART } from '../http/cursor.ts';
import { cutPage, type Page, type PageQuery } from '../http/page.ts';
import type { KeysService } from '../keys/keys.service.ts';
import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { newUuid, parsePublicId, publicId } from '../lib/ids.ts';
import { invariant } from '../lib/invariant.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { AccountRow, AccountsReadModel } from './accounts.read-model.ts';
import type { AuditStore } from './audit.store.ts';
import type { OperatorAct } from './operator-access.ts';
import type { CreateAccountBody, UpdateAccountBody } from './operators.schema.ts';

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
  readonly #audit: AuditStore;

  constructor(readModel: AccountsReadModel, movements: Movements, keys: KeysService, audit: AuditStore) {
    this.#readModel = readModel;
    this.#movements = movements;
    this.#keys = keys;
    this.#audit = audit;
  }

  /** Opens an account with an owner key and, when asked for, first credits. */
  async open(body: CreateAccountBody, act: OperatorAct): Promise<OpenedAccount> {
    const id = newUuid();
    await this.#movements.openAccount(id, body.name);
    if (body.credits !== undefined && body.credits > 0n) {
      await this.#giveCredits(id, body.credits);
    }
    const { secret } = await this.createOwnerKey(id);
    await this.#audit.append({
      action: 'account.create',
      object: publicId('account', id),
      ...act,
      detail: { name: body.name, credits: body.credits?.toString() ?? '0' },
    });
    return { row: await this.#require(id), secret };
  }

  /** One more owner key for an account, by its stored id. */
  createOwnerKey(id: string): Promise<{ readonly secret: string }> {
    return this.#keys.create(id, { name: 'owner', role: 'owner' });
  }

  async get(id: string): Promise<AccountRow> {
    return this.#require(accountUuid(id));
  }

  /** Newest first. */
  async list(query: PageQuery): Promise<Page<AccountRow>> {
    const [after] = query.cursor === undefined ? [] : decodeCursor(query.cursor, [UUID_PART]);
    const rows = await this.#readModel.list(query.limit + 1, after);
    return cutPage(rows, query.limit, (row) => [row.id]);
  }

  /** Changes an account; binds the very next call everywhere. */
  async update(id: string, body: UpdateAccountBody, act: OperatorAct): Promise<AccountRow> {
    const uuid = accountUuid(id);
    const changed = await this.#movements.changeAccount(uuid, {
      ...(body.name !== undefined && { name: body.name }),
      ...(body.suspended !== undefined && { suspended: body.suspended }),
      ...(body.allowed_models !== undefined && { allowedModels: body.allowed_models }),
    });
    if (!changed) {
      throw accountNotFound();
    }
    await this.#audit.append({ ...act, action: 'account.update', object: id, detail: body });
    return this.#require(uuid);
  }

  async #giveCredits(accountId: string, amount: NanoUsd): Promise<void> {
    const outcome = await this.#movements.adjust(
      { accountId, reference: newUuid(), description: 'Opening credits' },
      amount,
    );
    invariant(outcome === 'posted', 'a new reference is posted');
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
