import { Redis, type RedisOptions } from 'ioredis';

const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 2_000;
const RECONNECT_MS_MAX = 1_000;

function reconnectAfterMs(times: number): number {
  return Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_MS_MAX);
}

const SHARED: RedisOptions = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: reconnectAfterMs,
  keepAlive: 10_000,
};

/**
 * A connection that answers at once or fails at once: with Redis away nothing waits for it. `onError` hears every
 * broken attempt. Close it with `disconnect`.
 */
export function createProducerConnection(url: string, onError: (error: Error) => void): Redis {
  const connection = new Redis(url, {
    ...SHARED,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_TIMEOUT_MS,
  });
  connection.on('error', onError);
  return connection;
}

/** A connection that waits for Redis as long as it takes: a worker has nothing better to do. */
export function createWorkerConnection(url: string, onError: (error: Error) => void): Redis {
  const connection = new Redis(url, { ...SHARED, maxRetriesPerRequest: null });
  connection.on('error', onError);
  return connection;
}
