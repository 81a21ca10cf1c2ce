import { setTimeout as pause } from 'node:timers/promises';
import { every } from '../src/lib/every.ts';
import type { Logger } from '../src/lib/logger.ts';
import { redisAddress, redisPlace } from '../src/lib/redis-url.ts';
import { inspectRedis } from './inspect-redis.ts';
import { RedisSettingsError } from './redis-settings-error.ts';

const EVERY_MS = 15_000;
const AGAIN_MS = 1_000;
/** Minimum ms between two log lines about the same problem. */
const REPEAT_MS = 60_000;

export interface RedisWatch {
  /** Whether Redis accepted everything at the last check. */
  readonly isUsable: boolean;
  close(): Promise<void>;
}

/**
 * Checks Redis every 15 seconds. Logs address and reason while it cannot be used, at most once a minute, and logs when it can be
 * used again.
 */
export function watchRedis(url: string, prefix: string, log: Logger): RedisWatch {
  const place = redisPlace(redisAddress(url));
  let isUsable = false;
  let toldAt = Number.NEGATIVE_INFINITY;
  const look = async (): Promise<void> => {
    try {
      await inspectRedis(url, prefix);
      if (!isUsable && toldAt > 0) {
        log.info({ redis: place }, 'Redis can be used again');
      }
      isUsable = true;
    } catch (error) {
      isUsable = false;
      if (performance.now() - toldAt >= REPEAT_MS) {
        toldAt = performance.now();
        log.warn({ redis: place, reason: reasonOf(error) }, 'Redis cannot be used');
      }
    }
  };
  const loop = every(EVERY_MS, look);
  void loop.runNow();
  return {
    get isUsable() {
      return isUsable;
    },
    close: () => loop.close(),
  };
}

/**
 * Resolves when Redis accepts everything that a worker does. Retries while it is away, loading or a replica. Throws
 * RedisSettingsError for a problem that waiting does not solve.
 */
export async function untilRedisWorks(url: string, prefix: string, log: Logger): Promise<void> {
  const place = redisPlace(redisAddress(url));
  for (let toldAt = Number.NEGATIVE_INFINITY; ; ) {
    try {
      return await inspectRedis(url, prefix);
    } catch (error) {
      if (error instanceof RedisSettingsError) {
        throw error;
      }
      // a full Redis still serves reads, and accepts more once jobs are done
      if (/\bOOM\b/.test(reasonOf(error))) {
        return log.warn({ redis: place, reason: reasonOf(error) }, 'Redis is full');
      }
      if (performance.now() - toldAt >= REPEAT_MS) {
        toldAt = performance.now();
        log.warn({ redis: place, reason: reasonOf(error) }, 'waiting for Redis');
      }
    }
    await pause(AGAIN_MS);
  }
}

function reasonOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  const message = error instanceof Error ? error.message : String(error);
  return message || String(code);
}
