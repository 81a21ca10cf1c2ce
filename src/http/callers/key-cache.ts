import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { AppError } from '../../lib/errors.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { Principal } from '../route.ts';

/** What the store knows about a key, valid or not. */
export interface KeyFacts {
  readonly principal: Principal;
  readonly disabled: boolean;
  readonly suspended: boolean;
  /** Unix ms; null = never. */
  readonly expiresAtMs: number | null;
}

/** Returns the facts of the keys that exist, by hash. */
export type KeyLookup = (hashes: readonly string[]) => Promise<ReadonlyMap<string, KeyFacts>>;

interface Entry {
  readonly facts: KeyFacts;
  readonly freshUntilMs: number;
}

interface Question {
  readonly hash: string;
  readonly answer: Promise<KeyFacts | undefined>;
  resolve(facts: KeyFacts | undefined): void;
  reject(error: unknown): void;
}

/** Lifetime of an entry, in ms, counted from the start of the lookup, so that every replica sees a change within a second. */
const FRESH_MS = 800;
/** How long before its facts expire a key in use is looked up again, in ms, so that no call waits for them. */
const AHEAD_MS = 200;
const ENTRIES_MAX = 10_000;
/** Maximum time for a lookup, in ms. After that the store counts as unavailable and callers get an error instead of waiting. */
const LOOKUP_MS_MAX = 2_000;
/** Maximum number of keys in one lookup, and of keys that wait for the next one. */
const BATCH_MAX = 500;
const WAITING_MAX = 10_000;

/**
 * Caches looked-up keys for less than a second. One lookup is in flight at a time, with all keys requested in the meantime. So any number
 * of wrong keys costs the store one statement at a time, and no caller is rejected because of another's keys. Keys that do not exist are
 * cached separately, so that they evict no known key.
 */
export class KeyCache {
  readonly #lookup: KeyLookup;
  readonly #clock: Clock;
  readonly #known = new LruMap<string, Entry>(ENTRIES_MAX);
  /** Unix ms until which a key counts as unknown. */
  readonly #unknown = new LruMap<string, number>(ENTRIES_MAX);
  readonly #pending = new Map<string, Question>();
  readonly #waiting: Question[] = [];
  #asking = false;

  constructor(lookup: KeyLookup, clock: Clock) {
    this.#lookup = lookup;
    this.#clock = clock;
  }

  /**
   * Returns the facts of a key by its hash; undefined for an unknown or deleted key. Rejects when the store does, and with AppError
   * service_unavailable when it does not answer or too many keys wait for it.
   */
  async find(hash: string): Promise<KeyFacts | undefined> {
    const now = this.#clock.now();
    const entry = this.#known.get(hash);
    if (entry && entry.freshUntilMs > now) {
      if (entry.freshUntilMs - now <= AHEAD_MS) {
        // ignored: these facts are still valid, and a caller that needs new ones gets the error itself
        this.#ask(hash).catch(() => undefined);
      }
      return entry.facts;
    }
    if ((this.#unknown.get(hash) ?? 0) > now) {
      return undefined;
    }
    return this.#ask(hash);
  }

  /**
   * Returns the account of a key found before, however long ago; null for a key recently not found; undefined for others. Does no I/O.
   */
  accountSeen(hash: string): string | null | undefined {
    const isUnknown = (this.#unknown.get(hash) ?? 0) > this.#clock.now();
    return isUnknown ? null : this.#known.get(hash)?.facts.principal.accountId;
  }

  /** Makes the next request look the key up again. For the replica that just changed the key. */
  forget(hash: string): void {
    this.#known.delete(hash);
    this.#unknown.delete(hash);
    this.#pending.delete(hash);
  }

  #ask(hash: string): Promise<KeyFacts | undefined> {
    const pending = this.#pending.get(hash);
    if (pending) {
      return pending.answer;
    }
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.reject(unanswered());
    }
    const question = questionFor(hash);
    this.#pending.set(hash, question);
    this.#waiting.push(question);
    if (!this.#asking) {
      void this.#askAll();
    }
    return question.answer;
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      const freshUntilMs = this.#clock.now() + FRESH_MS;
      try {
        const found = await withDeadline(this.#lookup(batch.map(({ hash }) => hash)), LOOKUP_MS_MAX, () => {
          throw unanswered();
        });
        for (const question of batch) {
          const facts = found.get(question.hash);
          if (this.#end(question)) {
            this.#remember(question.hash, facts, freshUntilMs);
          }
          question.resolve(facts);
        }
      } catch (error) {
        for (const question of batch) {
          this.#end(question);
          question.reject(error);
        }
      }
    }
    this.#asking = false;
  }

  /** Ends a question. Returns false when the key was changed after the question was asked: the answer may be older than the change. */
  #end({ hash, answer }: Question): boolean {
    return this.#pending.get(hash)?.answer === answer && this.#pending.delete(hash);
  }

  #remember(hash: string, facts: KeyFacts | undefined, freshUntilMs: number): void {
    if (facts) {
      this.#known.set(hash, { facts, freshUntilMs });
    } else {
      this.#known.delete(hash);
      this.#unknown.set(hash, freshUntilMs);
    }
  }
}

function questionFor(hash: string): Question {
  let resolve: Question['resolve'] = () => undefined;
  let reject: Question['reject'] = () => undefined;
  const answer = new Promise<KeyFacts | undefined>((onAnswer, onError) => {
    [resolve, reject] = [onAnswer, onError];
  });
  return { hash, answer, resolve, reject };
}

function unanswered(): AppError {
  return new AppError('service_unavailable', 'The key cannot be looked up right now, please retry.', {
    retryAfterSeconds: 1,
  });
}
