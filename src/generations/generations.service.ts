import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import { checkOrder } from '../http/input/time-range.ts';
import type { Principal } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import { idAt, uuidTimeMs } from '../lib/ids.ts';
import type { GenerationFilter, GenerationRow, GenerationsReadModel } from './generations.read-model.ts';
import type { ListGenerationsQuery } from './generations.schema.ts';

/** Finds the id of a key by its hash, even of a deleted key. */
export interface KeyIds {
  idOfHash(accountId: string, hash: string): Promise<string | undefined>;
}

/** The reader of generations: an owner sees all of the account, an inference key only its own. */
export type Reader =
  | { readonly accountId: string; readonly role: 'owner' }
  | Pick<Principal, 'accountId' | 'role' | 'apiKeyId' | 'keyHash'>;

export interface GenerationPage extends Page<GenerationRow> {
  /** How far back the search went. Set when the page is short because the limit of scanned rows was reached. */
  readonly searchedUntil?: Date;
}

/** Maximum age of an id relative to its generation, in ms: a call repeated with its Idempotency-Key keeps the id of its first try. */
const ID_OLDER_MS_MAX = 25 * 3_600_000;

export class GenerationsService {
  readonly #readModel: GenerationsReadModel;
  readonly #keys: KeyIds;

  constructor(readModel: GenerationsReadModel, keys: KeyIds) {
    this.#readModel = readModel;
    this.#keys = keys;
  }

  /**
   * Lists ended generations, newest first; an inference key sees only its own. A page scans a limited number of rows, so a filtered page
   * may be short or even empty and still have a next page. Throws AppError invalid_cursor, FieldError.
   */
  async list(reader: Reader, query: ListGenerationsQuery): Promise<GenerationPage> {
    const { start_time: from = null, end_time: until = null, limit } = query;
    checkOrder(query);
    const [beforeId = null] = query.cursor === undefined ? [] : decodeCursor(query.cursor, [UUID_PART]);
    const apiKeyId = await this.#keyFilter(reader, query.api_key_hash);
    if (apiKeyId === undefined) {
      return { rows: [], next: undefined };
    }
    const filter: GenerationFilter = {
      ...{ accountId: reader.accountId, apiKeyId, from, until, limit: limit + 1 },
      beforeId: beforeId ?? (until && idAt(until.getTime())),
      leastId: idAt(from ? from.getTime() - ID_OLDER_MS_MAX : 0),
      model: query.model ?? null,
      status: query.status ?? null,
      endpoint: query.endpoint ?? null,
    };
    const page = cutPage(await this.#readModel.list(filter), limit, (row) => [row.id]);
    if (page.next) {
      return page;
    }
    const scanned = await this.#readModel.scannedUntil(filter);
    return scanned === undefined
      ? { rows: page.rows, next: undefined }
      : { rows: page.rows, next: [scanned], searchedUntil: new Date(uuidTimeMs(scanned)) };
  }

  /** Returns the key id to filter by; null for all keys, undefined for none, when the filter names a key that the caller may not see. */
  async #keyFilter(reader: Reader, hash: string | undefined): Promise<string | null | undefined> {
    if (reader.role === 'owner') {
      return hash === undefined ? null : this.#keys.idOfHash(reader.accountId, hash);
    }
    return hash === undefined || hash === reader.keyHash ? reader.apiKeyId : undefined;
  }

  /** Returns a generation that the caller may see; an inference key sees only its own. Throws AppError generation_not_found. */
  async get(principal: Principal, id: string): Promise<GenerationRow> {
    const row = await this.#readModel.find(principal.accountId, id);
    if (!row || (principal.role !== 'owner' && row.api_key_id !== principal.apiKeyId)) {
      throw new AppError('generation_not_found', 'There is no such generation.');
    }
    return row;
  }
}
