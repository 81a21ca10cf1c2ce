import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { TRUST_OWN_CA, tlsAdvice, tlsRefusal } from '../src/lib/tls-refusal.ts';
import { redisOptions } from './connection.ts';
import { queuePrefix } from './queue-name.ts';
import { RedisSettingsError } from './redis-settings-error.ts';

const VERSION_MIN = [6, 2] as const;
const NO_DATABASE = /\bDB index\b/i;
const TIMEOUT_MS = 3_000;
const PROBE_MS = 5_000;

function rightsBelow(prefix: string): string {
  return `its user needs: ~{${prefix}:* ~${prefix}:* &${prefix}.* +@all -@dangerous -@admin +info (docs/infrastructure.md)`;
}

/**
 * Tries once everything that queues and rate limits do: INFO, a write, a script, a blocking wait, a stream, a message. Throws
 * RedisSettingsError, with a one-line message, for a problem that only a human can fix. Otherwise throws the error of the
 * connection or of Redis (away, a replica, loading or full), which may be retried.
 */
export async function inspectRedis(url: string, prefix: string): Promise<void> {
  const redis = new Redis({
    ...redisOptions(url),
    lazyConnect: true,
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  let broken: Error | undefined;
  redis.on('error', (error) => {
    broken = error;
  });
  try {
    await redis.connect();
    checkServer(await redis.info());
    await requireDatabase(redis);
    await tryCommands(redis, prefix);
  } catch (error) {
    throw error instanceof RedisSettingsError ? error : explain(broken ?? error, prefix);
  } finally {
    redis.disconnect();
  }
}

/**
 * Throws RedisSettingsError if the server has no database of the number in the URL: the client does not mind, and would mix its data with
 * that of others in database 0. A server that cannot be asked counts as fine, because it may only be away.
 */
export async function requireDatabase(redis: Redis): Promise<void> {
  const { db = 0 } = redis.options;
  if (db > 0) {
    await redis.select(db).catch(refuseDatabase(db));
  }
}

function refuseDatabase(db: number): (error: unknown) => void {
  return (error) => {
    if (NO_DATABASE.test(String(error))) {
      throw new RedisSettingsError(
        `REDIS_URL: this server has no database ${db}: choose a smaller number, or raise \`databases\` in its configuration`,
      );
    }
  };
}

function checkServer(info: string): void {
  const [, major = '0', minor = '0'] = /redis_version:(\d+)\.(\d+)/.exec(info) ?? [];
  if (
    Number(major) < VERSION_MIN[0] ||
    (Number(major) === VERSION_MIN[0] && Number(minor) < VERSION_MIN[1])
  ) {
    throw new RedisSettingsError(
      `REDIS_URL: this server is version ${major}.${minor}; ${VERSION_MIN.join('.')} or newer is needed`,
    );
  }
  if (/cluster_enabled:1/.test(info)) {
    throw new RedisSettingsError(
      'REDIS_URL: this server is part of a Redis Cluster, which is not supported: use a single master, with replicas and Sentinel',
    );
  }
  if (/role:(slave|replica)/.test(info)) {
    throw new Error('READONLY this server is a replica');
  }
}

async function tryCommands(redis: Redis, prefix: string): Promise<void> {
  const key = `${queuePrefix(prefix, 'probe')}:${randomUUID()}`;
  await redis.set(key, '1', 'PX', PROBE_MS);
  await redis.eval("redis.call('TIME') return redis.call('GET', KEYS[1])", 1, key);
  await redis.set(`${prefix}:rate:{${randomUUID()}}`, '1', 'PX', PROBE_MS);
  await redis.zadd(`${key}:set`, 1, 'member');
  await redis.bzpopmin(`${key}:set`, 1);
  await redis.xadd(`${key}:stream`, '*', 'event', 'probe');
  await redis.xtrim(`${key}:stream`, 'MAXLEN', 0);
  await redis.del(key, `${key}:stream`);
  await redis.publish(`${prefix}.cancel`, 'probe');
  await redis.subscribe(`${prefix}.cancel`);
}

function explain(error: unknown, prefix: string): unknown {
  const refusal = tlsRefusal(error);
  if (refusal !== undefined) {
    return new RedisSettingsError(
      `REDIS_URL: the TLS connection is refused (${refusal}); ${tlsAdvice(error, TRUST_OWN_CA)}`,
    );
  }
  if (!(error instanceof Error) || error instanceof RedisSettingsError) {
    return error;
  }
  const { message } = error;
  if (/NOPERM/.test(message)) {
    return new RedisSettingsError(`REDIS_URL: ${message}; ${rightsBelow(prefix)}`);
  }
  if (/WRONGPASS|NOAUTH|invalid password/.test(message)) {
    return new RedisSettingsError(`REDIS_URL: the password or user is wrong (${message})`);
  }
  if (/\b(MOVED|CROSSSLOT)\b/.test(message)) {
    return new RedisSettingsError(
      'REDIS_URL: this is a Redis Cluster, which is not supported: use a single master',
    );
  }
  return error;
}
