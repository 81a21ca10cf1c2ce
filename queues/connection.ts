import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { redisAddress } from '../src/lib/redis-url.ts';

const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 2_000;
const RECONNECT_MS_MAX = 1_000;
/**
 * A socket that is owed an answer for that long, in ms, is given up: its host may have vanished without a word, which the kernel
 * notices after a quarter of an hour. Workers wait for jobs in one command of up to 10 s, so theirs is longer.
 */
const SILENCE_MS = { producer: 4_000, worker: 11_000 };
/** A worker's connection asks so often whether somebody is there, in ms; a subscriber would never notice otherwise. */
const PING_EVERY_MS = 2_000;
/** What Redis refuses is refused again at once: a worker that asks without a pause would be busy with it, in ms. */
const REFUSAL_PAUSE_MS = 1_000;

/** The server is no master (any more), or not there yet: the address may lead to another one by now. */
const ELSEWHERE = /\b(READONLY|MASTERDOWN|LOADING|UNBLOCKED)\b/;
/** Redis answered, and will say the same again. */
const REFUSAL = /\b(READONLY|MASTERDOWN|LOADING|NOPERM|NOAUTH|WRONGPASS|OOM|MOVED|CLUSTERDOWN|MISCONF)\b/;

function reconnectAfterMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_MS_MAX);
}

const SHARED: RedisOptions = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: reconnectAfterMs,
  reconnectOnError: (error) => ELSEWHERE.test(error.message),
  keepAlive: 10_000,
};

/** The options of a client for that URL. Throws an Error that says what is wrong with it. */
export function redisOptions(url: string): RedisOptions {
  const { sentinels, ...address } = redisAddress(url);
  return { ...address, ...(sentinels && { sentinels: [...sentinels] }) };
}

/**
 * A connection that answers at once or fails at once: with Redis away nothing waits for it. `onError` hears every
 * broken attempt. Close it with `disconnect`.
 */
export function createProducerConnection(url: string, onError: (error: Error) => void): Redis {
  const connection = new LastingRedis({
    ...redisOptions(url),
    ...SHARED,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_MS.producer,
  });
  connection.on('error', onError);
  return connection;
}

/**
 * Resolves when the connection's first attempt has ended, well or not, which takes at most its connect timeout. A process that
 * listens earlier would answer 503 for queues that are there.
 */
export async function firstAttempt(connection: Redis): Promise<void> {
  if (connection.status === 'ready') {
    return;
  }
  const over = new AbortController();
  const { signal } = over;
  // an error ends the attempt as well; whoever made the connection hears it
  const ends = [
    once(connection, 'ready', { signal }),
    once(connection, 'close', { signal }),
    pause(CONNECT_TIMEOUT_MS, undefined, { signal }),
  ];
  await Promise.race(ends.map((end) => end.catch(() => undefined)));
  over.abort();
}

/** A connection that waits for Redis as long as it takes: a worker has nothing better to do. */
export function createWorkerConnection(url: string, onError: (error: Error) => void): Redis {
  const connection = new PatientRedis({
    ...redisOptions(url),
    ...SHARED,
    maxRetriesPerRequest: null,
    socketTimeout: SILENCE_MS.worker,
  });
  connection.on('error', onError);
  return connection;
}

/**
 * Connects again until it is closed. The client gives up for good when it is told to reconnect while it asks a sentinel
 * (ioredis 5: a connector that is disconnected ends the connection), and a process would be without Redis until its restart.
 */
class LastingRedis extends Redis {
  #isClosed = false;

  constructor(options: RedisOptions) {
    super(options as Omit<RedisOptions, 'replyMapping'>);
    this.on('end', () => {
      if (!this.#isClosed) {
        setTimeout(() => this.#connectAgain(), RECONNECT_MS_MAX).unref();
      }
    });
  }

  override disconnect(reconnect = false): void {
    this.#isClosed ||= !reconnect;
    super.disconnect(reconnect);
  }

  override sendCommand(...command: Parameters<Redis['sendCommand']>): unknown {
    this.#isClosed ||= command[0].name === 'quit';
    return super.sendCommand(...command);
  }

  #connectAgain(): void {
    if (!this.#isClosed) {
      // what goes wrong is heard as an error event, and ends the connection once more
      this.connect().catch(() => undefined);
    }
  }
}

/** Takes its time to say that Redis refused something, and notices a silent server while it waits for messages. */
class PatientRedis extends LastingRedis {
  constructor(options: RedisOptions) {
    super(options);
    let pings: NodeJS.Timeout | undefined;
    this.on('ready', () => {
      pings = setInterval(() => void this.ping().catch(() => undefined), PING_EVERY_MS).unref();
    });
    this.on('close', () => clearInterval(pings));
  }

  override duplicate(override?: Partial<RedisOptions>): Redis {
    return new PatientRedis({ ...this.options, ...override });
  }

  override sendCommand(...command: Parameters<Redis['sendCommand']>): unknown {
    const reply = super.sendCommand(...command);
    if (!(reply instanceof Promise)) {
      return reply;
    }
    const patient = reply.catch(refuseLater);
    // the client itself sends its queue again after a reconnect and looks at no reply: a refusal nobody asked for must not end the process
    patient.catch(() => undefined);
    return patient;
  }
}

async function refuseLater(error: unknown): Promise<never> {
  if (error instanceof Error && REFUSAL.test(error.message)) {
    await pause(REFUSAL_PAUSE_MS);
  }
  throw error;
}
