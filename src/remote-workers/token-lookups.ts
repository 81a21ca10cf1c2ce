import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { LruMap } from '../lib/lru-map.ts';
import { WriteBatch } from '../tasks/write-batch.ts';
import type { OpenedToken, WorkerTokensStore } from './worker-tokens.store.ts';

/** Ms between two statements. Lookups in between join the next one. */
const PACE_MS = 5;
/** How long an unknown token is remembered, in ms. It cannot become valid later: a secret is generated when its row is written. */
const UNKNOWN_MS = 60_000;
const UNKNOWN_MAX = 10_000;
/** Maximum number of lookups that wait for the database at once. */
const WAITING_MAX = 5_000;

/**
 * Looks up worker tokens. At most one statement is in flight, with all tokens requested in the meantime, and a token that was not found is
 * not looked up again for a minute. Thus wrong tokens cost the database one statement at a time, however many arrive. Valid tokens are
 * looked up on each call, so a revoked one is rejected from the next call on.
 */
export class TokenLookups {
  readonly #lookups: WriteBatch<string, OpenedToken | undefined>;
  readonly #clock: Clock;
  /** Until when a token counts as unknown (Unix ms), by hash. */
  readonly #unknown = new LruMap<string, number>(UNKNOWN_MAX);
  #waiting = 0;

  constructor(store: Pick<WorkerTokensStore, 'use'>, clock: Clock) {
    this.#lookups = new WriteBatch(async (hashes) => {
      const found = await store.use([...new Set(hashes)]);
      return hashes.map((hash) => found.get(hash));
    }, PACE_MS);
    this.#clock = clock;
  }

  /**
   * Returns the token with that hash; undefined when it is unknown or revoked. Throws AppError service_unavailable when too many lookups
   * wait. Rethrows Postgres errors.
   */
  async find(hash: string): Promise<OpenedToken | undefined> {
    if ((this.#unknown.get(hash) ?? 0) > this.#clock.now()) {
      return undefined;
    }
    if (this.#waiting >= WAITING_MAX) {
      throw new AppError('service_unavailable', 'the token cannot be looked up right now; retry later', {
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
