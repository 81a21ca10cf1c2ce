import { LruMap } from '../lib/lru-map.ts';

/** Accounts whose tasks must be put off at the same time before their pool rests: fewer may be causing the refusals themselves. */
const ACCOUNTS_MIN = 3;
/** Maximum accounts remembered for a pool. */
const ACCOUNTS_MAX = 500;

/** Distinguishes a busy pool from an account that causes its refusals, by the number of accounts whose tasks were put off. */
export class PutOffTracker {
  readonly #now: () => number;
  /** By pool and account: until when a task was put off, in Unix ms. */
  readonly #pools = new Map<string, LruMap<string, number>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records that a task was put off for `waitMs`. Returns the ms for which the whole pool should rest; undefined when it should not. */
  putOff(pool: string, accountId: string, waitMs: number): number | undefined {
    const accounts = this.#pools.get(pool) ?? new LruMap<string, number>(ACCOUNTS_MAX);
    this.#pools.set(pool, accounts);
    const now = this.#now();
    accounts.set(accountId, Math.max(accounts.get(accountId) ?? 0, now + waitMs));
    const waiting = accounts.values().filter((until) => until > now).length;
    return waiting < ACCOUNTS_MIN ? undefined : waitMs;
  }
}
