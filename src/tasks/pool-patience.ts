import { LruMap } from '../lib/lru-map.ts';

/** Accounts whose tasks must be put off at the same time before their pool rests: fewer may be asking for what makes it refuse. */
const ACCOUNTS_MIN = 3;
/** Accounts remembered for a pool. */
const ACCOUNTS_MAX = 500;

/** Tells a busy pool from an account that makes it refuse, by how many accounts' tasks were put off. */
export class PoolPatience {
  readonly #now: () => number;
  /** By pool: until when, in Unix ms, an account's task was put off. */
  readonly #pools = new Map<string, LruMap<string, number>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A task was put off for `waitMs`. Returns the ms for which the whole pool should rest; undefined when it should not. */
  putOff(pool: string, accountId: string, waitMs: number): number | undefined {
    const accounts = this.#pools.get(pool) ?? new LruMap<string, number>(ACCOUNTS_MAX);
    this.#pools.set(pool, accounts);
    const now = this.#now();
    accounts.set(accountId, Math.max(accounts.get(accountId) ?? 0, now + waitMs));
    const waiting = accounts.values().filter((until) => until > now).length;
    return waiting < ACCOUNTS_MIN ? undefined : waitMs;
  }
}
