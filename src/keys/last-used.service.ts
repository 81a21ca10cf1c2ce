import type { Clock } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import type { KeysStore } from './keys.store.ts';

const FLUSH_EVERY_MS = 5_000;
const KEYS_MAX = 10_000;

/** Keeps `last_used_at` up to date with one statement every five seconds, however many requests there are. */
export class LastUsedService {
  readonly #store: KeysStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #loop: Loop;
  #uses = new Map<string, number>();
  #flushing: Promise<void> | undefined;

  constructor(store: KeysStore, clock: Clock, log: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#loop = every(FLUSH_EVERY_MS, () => this.flush());
  }

  /** Notes a use. Does no I/O. */
  touch(apiKeyId: string): void {
    if (this.#uses.size < KEYS_MAX || this.#uses.has(apiKeyId)) {
      this.#uses.set(apiKeyId, this.#clock.now());
    }
  }

  /** Writes the noted uses. Never rejects: what could not be written is retried. */
  flush(): Promise<void> {
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Writes the remaining uses and stops. */
  async close(): Promise<void> {
    await this.#loop.close();
    await this.flush();
  }

  async #write(): Promise<void> {
    const uses = this.#uses;
    if (uses.size === 0) {
      return;
    }
    this.#uses = new Map();
    let left = [...uses.keys()];
    try {
      left = await this.#store.markUsed(uses);
    } catch (error) {
      this.#log.warn({ error }, 'failed to store when keys were last used; will retry');
    }
    for (const id of left) {
      const at = uses.get(id);
      if (at !== undefined && !this.#uses.has(id) && this.#uses.size < KEYS_MAX) {
        this.#uses.set(id, at);
      }
    }
  }
}
