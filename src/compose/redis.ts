import type { Redis } from 'ioredis';
import { createProducerConnection } from '../../queues/connection.ts';
import { type RedisWatch, watchRedis } from '../../queues/redis-watch.ts';
import { registerRedisGauge } from '../telemetry/process-gauges.ts';
import type { Foundation } from './foundation.ts';

/** The connection for rate limits and cancels, and who looks whether it is of use: it fails at once and says nothing. */
export function composeRedis({ config, log, registry }: Foundation): {
  readonly connection: Redis;
  readonly watch: RedisWatch;
  close(): Promise<void>;
} {
  const connection = createProducerConnection(config.redisUrl, (error) =>
    log.debug({ error }, 'redis is away'),
  );
  const watch = watchRedis(config.redisUrl, config.redisPrefix, log);
  registerRedisGauge(registry, watch);
  return {
    connection,
    watch,
    close: async () => {
      connection.disconnect();
      await watch.close();
    },
  };
}
