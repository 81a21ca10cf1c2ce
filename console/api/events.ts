import { apiPath } from './client.ts';
import { refresh, setTold, TOLD } from './queries.ts';

/** What the tabs of a browser tell each other: what the stream said, or how it stands. */
type Word = 'hello' | 'balance' | 'generation' | 'task' | 'lost' | 'live' | 'who';

/** A service that cannot tell now is asked again after this long; pages poll meanwhile. */
const AGAIN_MS = 60_000;
/** Changes come in bursts: a page reads the first one at once, and at most that often because of them. */
const REFRESH_MS = 500;

/** What each word makes old. What was missed before a hello is unknown: all of it. */
const OUTDATED: Partial<Record<Word, readonly string[]>> = {
  hello: TOLD,
  balance: ['/api/v1/account', '/api/v1/generations', '/api/v1/billing'],
  generation: ['/api/v1/generations'],
  task: ['/api/v1/tasks'],
};

/**
 * Follows an account until the returned function is called: one stream for all tabs of the browser, held by one of them, which tells the
 * others. A browser that cannot agree on one (locks need https or the own host) polls.
 */
export function followAccount(accountId: string): () => void {
  if (!('locks' in navigator)) {
    return () => undefined;
  }
  const name = `tollgate-events ${accountId}`;
  const channel = new BroadcastChannel(name);
  const leaving = new AbortController();
  const refreshing = new Refreshing();
  let isLeading = false;
  let isLive = false;
  const hear = (word: Word) => {
    isLive = word !== 'lost';
    setTold(isLive);
    refreshing.add(OUTDATED[word] ?? []);
  };
  channel.onmessage = ({ data }: MessageEvent<Word>) => {
    if (data !== 'who') {
      hear(data);
    } else if (isLeading && isLive) {
      channel.postMessage('live' satisfies Word);
    }
  };
  channel.postMessage('who' satisfies Word);
  // a tab that is closed lets go of the lock, too: the next one leads
  const lead = async () => {
    isLeading = true;
    const say = (word: Word) => {
      hear(word);
      channel.postMessage(word);
    };
    await stream(say, leaving.signal);
  };
  navigator.locks.request(name, { signal: leaving.signal }, lead).catch((error: unknown) => {
    if (!leaving.signal.aborted) {
      throw error;
    }
  });
  return () => {
    leaving.abort();
    channel.close();
    refreshing.stop();
    setTold(false);
  };
}

/** Says what the service tells, until the signal aborts. */
function stream(say: (word: Word) => void, leaving: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const open = () => {
      source = new EventSource(apiPath('/api/v1/events'));
      for (const word of ['hello', 'balance', 'generation', 'task'] as const) {
        source.addEventListener(word, () => say(word));
      }
      source.onerror = () => {
        say('lost');
        // a stream that ended is opened again by the browser; a refusal is not
        if (source?.readyState === EventSource.CLOSED) {
          timer = setTimeout(open, AGAIN_MS);
        }
      };
    };
    open();
    leaving.addEventListener('abort', () => {
      clearTimeout(timer);
      source?.close();
      resolve();
    });
  });
}

/** Reads again what has become old: at once, then in one go for the rest of a burst. */
class Refreshing {
  readonly #due = new Set<string>();
  #ranAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  add(paths: readonly string[]): void {
    for (const path of paths) {
      this.#due.add(path);
    }
    if (this.#due.size > 0) {
      const waitMs = Math.max(0, this.#ranAt + REFRESH_MS - performance.now());
      this.#timer ??= setTimeout(() => this.#run(), waitMs);
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #run(): void {
    this.#timer = undefined;
    this.#ranAt = performance.now();
    refresh(...this.#due);
    this.#due.clear();
  }
}
