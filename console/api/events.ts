import { apiPath } from './client.ts';
import { refresh, setTold, TOLD } from './queries.ts';

/** Messages between the tabs of a browser: an event of the stream, or the state of the stream. */
type Word = 'hello' | 'balance' | 'generation' | 'task' | 'lost' | 'live' | 'who';

/** How long to wait before reconnecting to a service that refused the stream; pages poll meanwhile. */
const AGAIN_MS = 60_000;
/** Changes come in bursts: a page reads the first one at once, and further ones at most this often. */
const REFRESH_MS = 500;

/** What each message outdates. What was missed before a hello is unknown, so it outdates everything. */
const OUTDATED: Partial<Record<Word, readonly string[]>> = {
  hello: TOLD,
  balance: ['/api/v1/account', '/api/v1/generations', '/api/v1/billing'],
  generation: ['/api/v1/generations'],
  task: ['/api/v1/tasks'],
};

/**
 * Follows an account until the returned function is called. One tab of the browser holds the stream and informs the others.
 * Browsers in which tabs cannot elect one (locks need https or localhost) poll instead.
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
  // closing a tab also releases its lock, so that the next one takes over
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

/** Passes on the events of the service until the signal aborts. */
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
        // the browser reopens a stream that ended, but not one that was refused
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

/** Reloads outdated data: immediately, then once for the rest of a burst. */
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
