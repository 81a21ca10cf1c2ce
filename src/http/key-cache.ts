import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { LruMap } from './lru-map.ts';
import type { Principal } from './route.ts';

/** What the store knows about a key, valid or not. */
export interface KeyFacts {
  readonly principal: Principal;
  readonly disabled: boolean;
  readonly suspended: boolean;
  /** Unix ms; null = never. */
  readonly expiresAtMs: number | null;
}

export type KeyLookup = (hash: string) => Promise<KeyFacts | undefined>;

interface Entry {
  readonly facts: KeyFacts | undefined;
  readonly freshUntilMs: number;
}

/** Counted from the start of the lookup, so that a change is seen on every replica within a second. */
const FRESH_MS = 800;
const ENTRIES_MAX = 10_000;
/** A store that is silent for longer, in ms, is as good as away: the caller is told so instead of waiting with it. */
const LOOKUP_MS_MAX = 2_000;

/** Remembers looked-up keys for less than a second, and asks once for any number of requests at the same time. */
export class KeyCache {
  readonly #lookup: KeyLookup;
  readonly #clock: Clock;
  readonly #entries = new LruMap<string, Entry>(ENTRIES_MAX);
  readonly #pending = new Map<string, Promise<KeyFacts | undefined>>();

  constructor(lookup: KeyLookup, clock: Clock) {
    this.#lookup = lookup;
    this.#clock = clock;
  }

  /**
   * The facts of a key by its hash; undefined for an unknown or deleted one. Rejects when the store does, and with AppError
   * service_unavailable when it does not answer.
   */
  async find(hash: string): Promise<KeyFacts | undefined> {
    const entry = this.#entries.get(hash);
    if (entry && entry.freshUntilMs > this.#clock.now()) {
      return entry.facts;
    }
    let pending = this.#pending.get(hash);
    if (!pending) {
      pending = this.#load(hash).finally(() => this.#pending.delete(hash));
      this.#pending.set(hash, pending);
    }
    return pending;
  }

  /** Whether the key was a known one when last asked, however long ago. Asks nobody. */
  wasKnown(hash: string): boolean {
    return this.#entries.get(hash)?.facts !== undefined;
  }

  /** Makes the next request ask again: for the replica that just changed the key. */
  forget(hash: string): void {
    this.#entries.delete(hash);
    this.#pending.delete(hash);
  }

  async #load(hash: string): Promise<KeyFacts | undefined> {
    const freshUntilMs = this.#clock.now() + FRESH_MS;
    const facts = await withinTime(this.#lookup(hash));
    this.#entries.set(hash, { facts, freshUntilMs });
    return facts;
  }
}

async function withinTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = 'The key cannot be looked up right now, please retry.';
      reject(new AppError('service_unavailable', message, { retryAfterSeconds: 1 }));
    }, LOOKUP_MS_MAX);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
