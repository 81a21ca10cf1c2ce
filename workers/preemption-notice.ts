import { stat } from 'node:fs/promises';
import { request } from 'undici';
import { every, type Loop } from '../src/lib/every.ts';
import type { Logger } from '../src/lib/logger.ts';

export interface NoticeSettings {
  /** There is a notice while this file is there. */
  readonly file: string | null;
  /** There is a notice while this address answers 200 with another word than FALSE or NONE. */
  readonly url: string | null;
}

const LOOK_EVERY_MS = 1_000;
const ANSWER_MS = 2_000;
const BODY_CHARACTERS_MAX = 4_096;
/** How Google's metadata server says that nothing is planned. */
const NOTHING = new Set(['', 'FALSE', 'NONE']);

/**
 * Whether the host is about to be taken away: told by SIGUSR2, by a file, or by the metadata server of a cloud. Who hears of it takes
 * no more work; it ends with the file or the answer, after SIGUSR2 with the process.
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

  /** Looks at once and then every second. */
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

  /** Calls the listener at each change until the returned function is called. */
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
      this.#log.warn({ source }, 'this host is about to go: no more work is taken, what runs goes on');
    } else {
      this.#log.info('the notice is over: work is taken again');
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

/** 404 is how Amazon's says that nothing is planned; one that cannot be asked says nothing. */
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
