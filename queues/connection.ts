import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { optimizeStrings } from '../src/lib/optimize-strings.ts';
import { redisAddress } from '../src/lib/redis-url.ts';

// ioredis, which is loaded by now, derives a class from String
optimizeStrings();

const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 2_000;
const RECONNECT_MS_MAX = 1_000;
/**
 * Ms after which a socket that owes an answer is given up: its host may have vanished silently, which the kernel notices only after
 * a quarter of an hour. Workers wait for jobs in one command of up to 10 s, so theirs is longer.
 */
const SILENCE_MS = { producer: 4_000, worker: 11_000 };
/** Ms between pings on a worker's connection; without them a subscriber would never notice that the server is gone. */
const PING_EVERY_MS = 2_000;
/** Pause in ms before a refusal is reported: Redis refuses instantly, so a worker that retried without a pause would do nothing else. */
const REFUSAL_PAUSE_MS = 1_000;

/** Errors of a server that is not (or no longer) the master, or not ready yet: the address may lead to another server by now. */
const ELSEWHERE = /\b(READONLY|MASTERDOWN|LOADING|UNBLOCKED)\b/;
/** Errors that Redis will return again if asked again. */
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

/** Returns the client options for a Redis URL. Throws an Error that says what is wrong with the URL. */
export function redisOptions(url: string): RedisOptions {
  const { sentinels, ...address } = redisAddress(url);
  return { ...address, ...(sentinels && { sentinels: [...sentinels] }) };
}

/**
 * Creates a connection that answers at once or fails at once: nothing waits while Redis is away. Calls `onError` for every failed
 * attempt. Close it with `disconnect`.
 */
export function createProducerConnection(url: string, onError: (error: Error) => void): Redis {
  const connection = new ReconnectingRedis({
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
 * Resolves when the first connection attempt has ended, successfully or not, after the connect timeout at the latest. A process
 * that starts listening earlier would answer 503 for queues that are available.
 */
export async function firstAttempt(connection: Redis): Promise<void> {
  if (connection.status === 'ready') {
    return;
  }
  const over = new AbortController();
  const { signal } = over;
  // an error also ends the attempt; the creator of the connection handles it
  const ends = [
    once(connection, 'ready', { signal }),
    once(connection, 'close', { signal }),
    pause(CONNECT_TIMEOUT_MS, undefined, { signal }),
  ];
  await Promise.race(ends.map((end) => end.catch(() => undefined)));
  over.abort();
}

/** Creates a connection that waits for Redis as long as it takes: a worker cannot do anything without it. */
export function createWorkerConnection(url: string, onError: (error: Error) => void): Redis {
  const connection = new WorkerRedis({
    ...redisOptions(url),
    ...SHARED,
    maxRetriesPerRequest: null,
    socketTimeout: SILENCE_MS.worker,
  });
  connection.on('error', onError);
  return connection;
}

/**
 * Reconnects until it is closed. ioredis 5 gives up for good when told to reconnect while it asks a sentinel (disconnecting the
 * connector ends the connection), which would leave the process without Redis until it restarts.
 */
class ReconnectingRedis extends Redis {
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
      // a failure emits an error event and ends the connection once more
      this.connect().catch(() => undefined);
    }
  }
}

/** Delays refusals by Redis, and pings so that it notices a silent server while it waits for messages. */
class WorkerRedis extends ReconnectingRedis {
  constructor(options: RedisOptions) {
    super(options);
    let pings: NodeJS.Timeout | undefined;
    this.on('ready', () => {
      pings = setInterval(() => void this.ping().catch(() => undefined), PING_EVERY_MS).unref();
    });
    this.on('close', () => clearInterval(pings));
  }

  override duplicate(override?: Partial<RedisOptions>): Redis {
    return new WorkerRedis({ ...this.options, ...override });
  }

  override sendCommand(...command: Parameters<Redis['sendCommand']>): unknown {
    const reply = super.sendCommand(...command);
    if (!(reply instanceof Promise)) {
      return reply;
    }
    const patient = reply.catch(refuseLater);
    // ioredis resends its queue after a reconnect and ignores the replies: a refusal that nobody awaits must not end the process
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
