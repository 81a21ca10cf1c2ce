import { decodeCursor, INTEGER_PART, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page, type PageQuery } from '../http/answers/page.ts';
import {
  type BucketRange,
  bucketRange,
  type Granularity,
  type RangeQuery,
} from '../http/input/time-range.ts';
import type { Principal } from '../http/route.ts';
import type { KeysStore } from '../keys/keys.store.ts';
import type { Clock } from '../lib/clock.ts';
import type {
  ActivitySums,
  CostSums,
  ReportScope,
  SpeedSums,
  UsageReadModel,
  UsageSums,
} from './usage.read-model.ts';
import type { ActivityQuery, CostsQuery, CostsTotalQuery, UsageQuery } from './usage.schema.ts';

/** A page of a report and the length of its periods. */
export interface UsageReport<Row> {
  readonly page: Page<Row>;
  readonly range: BucketRange;
}

/** What the ledger charged in a range, in nano-USD as decimal text. Null when one key has too many charges to add up. */
export interface LedgerTotal {
  readonly amount: string | null;
  readonly range: BucketRange;
}

/** Who reads the usage: an owner of the account sees all of it, an inference key only its own. */
export type UsageReader =
  | { readonly accountId: string; readonly role: 'owner' }
  | Pick<Principal, 'accountId' | 'role' | 'apiKeyId' | 'keyHash'>;

type CommonQuery = RangeQuery & PageQuery & { readonly api_key_hash?: string | undefined };

const TIME_PART = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const TEXT_PART = /^[^\0]{0,200}$/;
const KEY_OR_NONE = /^(?:[0-9a-f-]{36})?$/;

/** Usage, activity and costs of an account. An inference key sees only its own. */
export class UsageService {
  readonly #readModel: UsageReadModel;
  readonly #keys: Pick<KeysStore, 'idOfHash'>;
  readonly #clock: Clock;

  constructor(readModel: UsageReadModel, keys: Pick<KeysStore, 'idOfHash'>, clock: Clock) {
    this.#readModel = readModel;
    this.#keys = keys;
    this.#clock = clock;
  }

  async usage(principal: Principal, query: UsageQuery): Promise<UsageReport<UsageSums>> {
    const after = query.cursor && decodeCursor(query.cursor, [TIME_PART, TEXT_PART, UUID_PART]);
    return this.#report(
      principal,
      query,
      query.granularity,
      (scope) => this.#readModel.usage(scope, query.model ?? null, after || undefined),
      (row) => [row.period_start.toISOString(), row.model, row.api_key_id],
    );
  }

  async speed(principal: Principal, query: UsageQuery): Promise<UsageReport<SpeedSums>> {
    const after = query.cursor && decodeCursor(query.cursor, [TIME_PART, TEXT_PART]);
    return this.#report(
      principal,
      query,
      query.granularity,
      (scope) => this.#readModel.speed(scope, query.model ?? null, after || undefined),
      (row) => [row.period_start.toISOString(), row.model],
    );
  }

  async activity(principal: Principal, query: ActivityQuery): Promise<UsageReport<ActivitySums>> {
    const after = query.cursor && decodeCursor(query.cursor, [TIME_PART, TEXT_PART, TEXT_PART, UUID_PART]);
    return this.#report(
      principal,
      query,
      'day',
      (scope) => this.#readModel.activity(scope, after || undefined),
      (row) => [row.period_start.toISOString(), row.endpoint, row.model, row.api_key_id],
    );
  }

  async costs(principal: UsageReader, query: CostsQuery): Promise<UsageReport<CostSums>> {
    const parts = [TIME_PART, TEXT_PART, KEY_OR_NONE, TEXT_PART, INTEGER_PART];
    const after = query.cursor && decodeCursor(query.cursor, parts);
    const by = {
      model: query.group_by.includes('model'),
      apiKey: query.group_by.includes('api_key'),
      endpoint: query.group_by.includes('endpoint'),
    };
    return this.#report(
      principal,
      query,
      query.granularity,
      (scope) => this.#readModel.costs(scope, by, after || undefined),
      (row) => [
        row.period_start.toISOString(),
        row.model ?? '',
        row.api_key_id ?? '',
        row.endpoint ?? '',
        String(row.position),
      ],
    );
  }

  /** Returns what the ledger charged in a range, to check the sum of {@link costs}. Throws FieldError for an invalid range. */
  async ledgerTotal(principal: UsageReader, query: CostsTotalQuery): Promise<LedgerTotal> {
    const range = bucketRange(query, 'day', this.#clock.now());
    const apiKeyId = await this.#keyFilter(principal, query.api_key_hash);
    const { accountId } = principal;
    const amount =
      apiKeyId === undefined ? '0' : await this.#readModel.ledgerTotal({ accountId, apiKeyId, range });
    return { amount, range };
  }

  async #report<Row>(
    principal: UsageReader,
    query: CommonQuery,
    granularity: Granularity,
    read: (scope: ReportScope) => Promise<Row[]>,
    position: (row: Row) => string[],
  ): Promise<UsageReport<Row>> {
    const range = bucketRange(query, granularity, this.#clock.now());
    const apiKeyId = await this.#keyFilter(principal, query.api_key_hash);
    const rows =
      apiKeyId === undefined
        ? []
        : await read({ accountId: principal.accountId, apiKeyId, range, limit: query.limit + 1 });
    return { page: cutPage(rows, query.limit, position), range };
  }

  /** Returns the key to report on: null for all keys, undefined when the filter names no key that the caller may see. */
  async #keyFilter(principal: UsageReader, hash: string | undefined): Promise<string | null | undefined> {
    if (principal.role === 'owner') {
      return hash === undefined ? null : this.#keys.idOfHash(principal.accountId, hash);
    }
    return hash === undefined || hash === principal.keyHash ? principal.apiKeyId : undefined;
  }
}
