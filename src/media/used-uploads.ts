import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';

/** Longer than any upload grant is valid. */
const FORGET_AFTER_MS = 3_600_000;
const SWEEP_EVERY_MS = 60_000;
const SUFFIX = '.used';

/**
 * Remembers which upload grants have been used, as empty files: every API process that uses the folder sees them, and they survive a
 * restart. Adding new ones removes old ones.
 */
export class UsedUploads {
  readonly #folder: string;
  readonly #clock: Clock;
  #sweptAt = 0;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Claims a grant. Returns false when it was claimed before. */
  async claim(nonce: string): Promise<boolean> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.#sweep();
    try {
      await (await open(this.#path(nonce), 'wx', 0o600)).close();
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
        return false;
      }
      throw error;
    }
  }

  /** Releases a grant after an upload that stored nothing. */
  async release(nonce: string): Promise<void> {
    await rm(this.#path(nonce), { force: true });
  }

  #path(nonce: string): string {
    return join(this.#folder, `${nonce}${SUFFIX}`);
  }

  async #sweep(): Promise<void> {
    const now = this.#clock.now();
    if (now - this.#sweptAt < SWEEP_EVERY_MS) {
      return;
    }
    this.#sweptAt = now;
    for (const name of (await readdir(this.#folder)).filter((entry) => entry.endsWith(SUFFIX))) {
      const path = join(this.#folder, name);
      const madeAt = (await stat(path).catch(() => undefined))?.mtimeMs ?? now;
      if (now - madeAt > FORGET_AFTER_MS) {
        await rm(path, { force: true });
      }
    }
  }
}
