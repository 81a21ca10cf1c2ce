import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { LruMap } from '../lib/lru-map.ts';
import { WriteBatch } from '../tasks/write-batch.ts';
import type { OpenedToken, WorkerTokensStore } from './worker-tokens.store.ts';

/** Ms between two statements. Who asks meanwhile is in the next one. */
const PACE_MS = 5;
/** A token that does not exist never will: a secret is drawn when its row is written. */
const UNKNOWN_MS = 60_000;
const UNKNOWN_MAX = 10_000;
/** Questions that may wait for the database at once. */
const WAITING_MAX = 5_000;

/**
 * Looks worker tokens up: one statement is in flight at a time, with all that were asked for meanwhile, and one that was not there is not asked
 * for again for a minute. So wrong tokens cost the database one statement after the other, however many come, and right ones are asked for
 * with each call: a revoked one is refused from the next on.
 */
export class TokenLookups {
  readonly #lookups: WriteBatch<string, OpenedToken | undefined>;
  readonly #clock: Clock;
  /** Unix ms until which a token is taken for unknown, by hash. */
  readonly #unknown = new LruMap<string, number>(UNKNOWN_MAX);
  #waiting = 0;

  constructor(store: Pick<WorkerTokensStore, 'use'>, clock: Clock) {
    this.#lookups = new WriteBatch(async (hashes) => {
      const found = await store.use([...new Set(hashes)]);
      return hashes.map((hash) => found.get(hash));
    }, PACE_MS);
    this.#clock = clock;
  }

  /** The token of that hash; undefined for one that is unknown or revoked. Throws AppError service_unavailable when too many wait, and what Postgres throws. */
  async find(hash: string): Promise<OpenedToken | undefined> {
    if ((this.#unknown.get(hash) ?? 0) > this.#clock.now()) {
      return undefined;
    }
    if (this.#waiting >= WAITING_MAX) {
      throw new AppError('service_unavailable', 'the token cannot be looked up right now, please retry', {
        retryAfterSeconds: 1,
      });
    }
    this.#waiting += 1;
    try {
      const found = await this.#lookups.run(hash);
      if (!found) {
        this.#unknown.set(hash, this.#clock.now() + UNKNOWN_MS);
      }
      return found;
    } finally {
      this.#waiting -= 1;
    }
  }
}
