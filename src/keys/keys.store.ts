import type pg from 'pg';
import type { Utils } from 'sequelize';
import { literal, Op } from 'sequelize';
import type { KeyFacts } from '../http/callers/key-cache.ts';
import type { Member, MemberRole } from '../http/callers/member-role.ts';
import type { RateLimits } from '../http/limits/rate-policy.ts';
import type { AuditedAct } from '../ledger/ledger.types.ts';
import { nanoUsd } from '../lib/money.ts';
import { byCell, type Cells, inAll } from '../store/cells.ts';
import type { ApiKeyModel, ApiKeyRow, StoredRateLimits } from '../store/models/api-key.model.ts';
import { apiKeyModel } from '../store/models/api-key.model.ts';
import { jsonParameter, run } from '../store/statement.ts';
import { createApiKey, findKeyFacts, forgetApiKeys, isMembersKey, markKeysUsed } from './keys.sql.ts';

export interface NewKeyRow {
  readonly id: string;
  readonly accountId: string;
  readonly hash: string;
  readonly name: string;
  readonly label: string;
  readonly role: 'owner' | 'inference';
  readonly disabled: boolean;
  /** Nano-USD as decimal text; null = unlimited. */
  readonly limitNano: string | null;
  readonly limitReset: ApiKeyRow['limit_reset'];
  readonly expiresAt: Date | null;
  readonly rateLimits: StoredRateLimits | null;
  /** Ids of the models that it may call; null = all models of the account. */
  readonly allowedModels: readonly string[] | null;
}

interface FactsRow extends pg.QueryResultRow {
  readonly hash: string;
  readonly id: string;
  readonly account_id: string;
  readonly account_name: string;
  readonly role: 'owner' | 'inference';
  readonly disabled: boolean;
  readonly suspended: boolean;
  readonly expires_at: Date | null;
  readonly account_models: string[] | null;
  readonly key_models: string[] | null;
  readonly account_limits: StoredRateLimits | null;
  readonly key_limits: StoredRateLimits | null;
  readonly spendable: string;
  readonly member_id: string | null;
  readonly member_role: MemberRole | null;
  readonly member_email: string | null;
}

/** Days for which the row of a key is kept after its deletion or expiry. */
const KEY_DAYS = 90;
const FORGOTTEN_PER_STATEMENT = 200;

/** Computes `spent_before`: a limit renews with the clock, its row only with the next call. */
const COUNTED_NOW = {
  exclude: ['spent_before'],
  include: [
    [
      literal('limit_base(limit_reset, counted_from, spent, "api_keys".spent_before, ledger_now())'),
      'spent_before',
    ] as [Utils.Literal, string],
  ],
};

/** Stores the keys of accounts. Limits, disabling and deletion go through the ledger, which takes the account's lock. */
export class KeysStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Writes `act`, if there is one, to the audit log as well. Returns undefined when the account has its maximum number of keys. */
  async insert(key: NewKeyRow, act?: AuditedAct): Promise<ApiKeyRow | undefined> {
    const fields = {
      id: key.id,
      hash: key.hash,
      name: key.name,
      label: key.label,
      role: key.role,
      disabled: key.disabled,
      limit_nano: key.limitNano,
      limit_reset: key.limitReset,
      expires_at: key.expiresAt,
      rate_limits: key.rateLimits,
      allowed_models: key.allowedModels && [...key.allowedModels],
    };
    return (
      await run<ApiKeyRow>(this.#cells.of(key.accountId).money, createApiKey, [
        key.accountId,
        jsonParameter(fields),
        jsonParameter(act ?? {}),
      ])
    )[0];
  }

  /** Returns a key, unless it is deleted. */
  async find(accountId: string, hash: string): Promise<ApiKeyRow | undefined> {
    const row = await this.#model(accountId).findOne({
      attributes: COUNTED_NOW,
      where: { account_id: accountId, hash, deleted_at: null },
    });
    return row?.get({ plain: true });
  }

  /** Returns the id of a hash within an account. Includes deleted keys, so that history stays readable. */
  async idOfHash(accountId: string, hash: string): Promise<string | undefined> {
    const row = await this.#model(accountId).findOne({
      where: { account_id: accountId, hash },
      attributes: ['id'],
    });
    return row?.get('id') as string | undefined;
  }

  /** Returns whether a person signs in with this key of the account. */
  async isMembers(accountId: string, id: string): Promise<boolean> {
    const [row] = await run<{ is_members: boolean }>(this.#cells.of(accountId).money, isMembersKey, [id]);
    return row?.is_members ?? false;
  }

  /** Returns hashes by id. Ids of other accounts are left out. */
  async hashesOfIds(accountId: string, ids: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.#model(accountId).findAll({
      where: { account_id: accountId, id: { [Op.in]: [...new Set(ids)] } },
      attributes: ['id', 'hash'],
      raw: true,
    });
    return new Map((rows as unknown as ApiKeyRow[]).map((row) => [row.id, row.hash]));
  }

  /** Lists keys, newest first, without deleted ones. */
  async list(accountId: string, limit: number, after: string | undefined): Promise<ApiKeyRow[]> {
    const rows = await this.#model(accountId).findAll({
      attributes: COUNTED_NOW,
      // ids are time-ordered, so they alone give the order of creation
      where: { account_id: accountId, deleted_at: null, ...(after && { id: { [Op.lt]: after } }) },
      order: [['id', 'DESC']],
      limit,
    });
    return rows.map((row) => row.get({ plain: true }));
  }

  /**
   * Returns what authentication needs to know about these keys, with one statement per cell. Unknown and deleted keys are left out. A
   * hash does not tell its cell, so all cells are asked. The secret behind it contains the bucket of its account, which could avoid that,
   * but older secrets do not.
   */
  async facts(hashes: readonly string[]): Promise<Map<string, KeyFacts>> {
    const rows = await inAll(this.#cells, ({ money }) => run<FactsRow>(money, findKeyFacts, [hashes]));
    return new Map(rows.map((row) => [row.hash, toFacts(row)]));
  }

  /** Records uses (key id → Unix ms). Returns the ids that were locked by another statement and must be retried. */
  async markUsed(uses: ReadonlyMap<string, number>): Promise<string[]> {
    const shares = byCell([...uses], ([id]) => this.#cells.ofOwned(id));
    const marking = shares.map(({ cell, items }) => {
      const times = items.map(([, ms]) => new Date(ms).toISOString());
      return run<{ id: string }>(cell.money, markKeysUsed, [items.map(([id]) => id), times]);
    });
    const done = new Set((await Promise.all(marking)).flat().map((row) => row.id));
    return [...uses.keys()].filter((id) => !done.has(id));
  }

  /**
   * Deletes keys that expired 90 days ago, and forgets those deleted 90 days ago that no report refers to, in bounded statements. Returns
   * the number of keys handled; keys with history are examined once.
   */
  async forget(signal: AbortSignal): Promise<number> {
    let handled = 0;
    for (const { money } of this.#cells.all()) {
      handled += await forgetIn(money, signal);
    }
    return handled;
  }

  #model(accountId: string): ApiKeyModel {
    return apiKeyModel(this.#cells.of(accountId).sequelize);
  }
}

async function forgetIn(pool: pg.Pool, signal: AbortSignal): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const values = [KEY_DAYS, FORGOTTEN_PER_STATEMENT];
    const [row] = await run<{ handled: number }>(pool, forgetApiKeys, values);
    if (row === undefined || row.handled === 0) {
      break;
    }
    handled += row.handled;
  }
  return handled;
}

function toFacts(row: FactsRow): KeyFacts {
  return {
    principal: {
      accountId: row.account_id,
      accountName: row.account_name,
      apiKeyId: row.id,
      keyHash: row.hash,
      ...roleOf(row),
      allowedModels: intersection(row.account_models, row.key_models),
      rateLimits: {
        key: ratesOf(row.key_limits),
        account: ratesOf(row.account_limits),
        queuedTasks: row.account_limits?.queued_tasks ?? null,
      },
      spendable: nanoUsd(row.spendable),
    },
    disabled: row.disabled,
    suspended: row.suspended,
    expiresAtMs: row.expires_at?.getTime() ?? null,
  };
}

/** A member can read the whole account; their own role is given beside it. */
function roleOf(row: FactsRow): { readonly role: 'owner' | 'inference'; readonly member?: Member } {
  if (row.member_id === null || row.member_role === null) {
    return { role: row.role };
  }
  return {
    role: 'owner',
    member: { id: row.member_id, role: row.member_role, email: row.member_email ?? '' },
  };
}

function ratesOf(limits: StoredRateLimits | null): Partial<RateLimits> | null {
  return (
    limits && {
      ...(limits.requests_per_minute !== undefined && { requestsPerMinute: limits.requests_per_minute }),
      ...(limits.tokens_per_minute !== undefined && { tokensPerMinute: limits.tokens_per_minute }),
      ...(limits.concurrency !== undefined && { concurrency: limits.concurrency }),
    }
  );
}

function intersection(first: string[] | null, second: string[] | null): string[] | null {
  return first && second ? first.filter((model) => second.includes(model)) : (first ?? second);
}
