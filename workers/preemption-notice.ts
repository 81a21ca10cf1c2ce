import { stat } from 'node:fs/promises';
import { request } from 'undici';
import { every, type Loop } from '../src/lib/every.ts';
import type { Logger } from '../src/lib/logger.ts';

export interface NoticeSettings {
  /** A notice is in force while this file exists. */
  readonly file: string | null;
  /** A notice is in force while this address answers 200 with a word other than FALSE or NONE. */
  readonly url: string | null;
}

const LOOK_EVERY_MS = 1_000;
const ANSWER_MS = 2_000;
const BODY_CHARACTERS_MAX = 4_096;
/** Answers by which Google's metadata server says that nothing is planned. */
const NOTHING = new Set(['', 'FALSE', 'NONE']);

/**
 * Whether the host is about to be taken away, as announced by SIGUSR2, a file, or a cloud's metadata server. Meanwhile the process
 * takes no new work. The notice ends with the file or the answer; after SIGUSR2 it lasts until the process ends.
 */
export class PreemptionNotice {
  readonly #settings: NoticeSettings;
  readonly #log: Logger;
  readonly #listeners = new Set<(isGiven: boolean) => void>();
  readonly #onSignal = (): void => {
    this.#isSignalled = true;
    this.#tell('SIGUSR2');
  };
  readonly #looks: Loop | undefined;
  #isSignalled = false;
  #isSeen = false;
  #isGiven = false;

  /** Checks at once and then every second. */
  constructor(settings: NoticeSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    process.on('SIGUSR2', this.#onSignal);
    if (settings.file !== null || settings.url !== null) {
      this.#looks = every(LOOK_EVERY_MS, () => this.#look());
      void this.#looks.runNow();
    }
  }

  get isGiven(): boolean {
    return this.#isGiven;
  }

  /** Calls the listener on each change until the returned function is called. */
  onChange(listener: (isGiven: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    process.off('SIGUSR2', this.#onSignal);
    this.#listeners.clear();
    await this.#looks?.close();
  }

  async #look(): Promise<void> {
    const { file, url } = this.#settings;
    const [inFile, atUrl] = await Promise.all([file !== null && isThere(file), url !== null && isTold(url)]);
    this.#isSeen = inFile || atUrl;
    this.#tell(inFile ? (file ?? '') : (url ?? ''));
  }

  #tell(source: string): void {
    const isGiven = this.#isSignalled || this.#isSeen;
    if (isGiven === this.#isGiven) {
      return;
    }
    this.#isGiven = isGiven;
    if (isGiven) {
      this.#log.warn(
        { source },
        'this host is about to be taken away: taking no new work, running tasks continue',
      );
    } else {
      this.#log.info('the preemption notice has ended: taking work again');
    }
    for (const listener of this.#listeners) {
      listener(isGiven);
    }
  }
}

async function isThere(file: string): Promise<boolean> {
  return await stat(file).then(
    () => true,
    () => false,
  );
}

/** Amazon's metadata server answers 404 when nothing is planned. A server that cannot be reached counts as no notice. */
async function isTold(url: string): Promise<boolean> {
  try {
    const answer = await request(url, {
      headers: { 'metadata-flavor': 'Google' },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const text = (await answer.body.text()).slice(0, BODY_CHARACTERS_MAX).trim();
    return answer.statusCode === 200 && !NOTHING.has(text.toUpperCase());
  } catch {
    return false;
  }
}
