import { decodeCursor, INTEGER_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import { checkOrder } from '../http/input/time-range.ts';
import type { Principal } from '../http/route.ts';
import type { KeysStore } from '../keys/keys.store.ts';
import { AppError } from '../lib/errors.ts';
import { parseTransactionId } from './transaction-id.ts';
import type { EntryRow, TransactionsReadModel } from './transactions.read-model.ts';
import type { ListTransactionsQuery } from './transactions.schema.ts';

const TIME_PART = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

/** The movements of an account's balance. */
export class TransactionsService {
  readonly #readModel: TransactionsReadModel;
  readonly #keys: Pick<KeysStore, 'idOfHash'>;

  constructor(readModel: TransactionsReadModel, keys: Pick<KeysStore, 'idOfHash'>) {
    this.#readModel = readModel;
    this.#keys = keys;
  }

  /** Returns movements, newest first. A key that does not belong to the account has none. */
  async list(
    { accountId }: Pick<Principal, 'accountId'>,
    query: ListTransactionsQuery,
  ): Promise<Page<EntryRow>> {
    const { start_time: from = null, end_time: before = null, api_key_hash: hash } = query;
    checkOrder(query);
    const after =
      query.cursor === undefined ? undefined : decodeCursor(query.cursor, [TIME_PART, INTEGER_PART]);
    const apiKeyId = hash === undefined ? null : await this.#keys.idOfHash(accountId, hash);
    if (apiKeyId === undefined) {
      return { rows: [], next: undefined };
    }
    const filter = {
      accountId,
      from,
      before,
      type: query.type ?? null,
      apiKeyId,
      limit: query.limit + 1,
      after,
    };
    return cutPage(await this.#readModel.list(filter), query.limit, (row) => [row.at_text, row.seq]);
  }

  /** Returns an entry. Throws AppError transaction_not_found. */
  async get(principal: Principal, id: string): Promise<EntryRow> {
    const key = parseTransactionId(id);
    const row = key && (await this.#readModel.find(principal.accountId, key));
    if (!row) {
      throw new AppError('transaction_not_found', 'There is no such transaction.');
    }
    return row;
  }
}
