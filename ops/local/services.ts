import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { type EmbeddedRedis, startEmbeddedRedis } from '../embedded/embedded-redis.ts';
import { redisCacheFolders } from '../embedded/redis-binary.ts';
import { checkFreeSpace } from './data-folder.ts';
import type { WatchedService } from './service-watch.ts';
import type { SupervisorSettings } from './settings.ts';
import type { Terminal } from './terminal.ts';

/**
 * The servers running so far. Each is entered as soon as it runs, so that when one fails, the other can still be found and
 * stopped.
 */
export type Services = { postgres?: EmbeddedPostgres; redis?: EmbeddedRedis };

export type ServicesContext = {
  settings: SupervisorSettings;
  environment: NodeJS.ProcessEnv;
  root: string;
  terminal: Terminal;
};

/**
 * Starts the servers for which no URL was given, concurrently, and enters them into `services`. Throws the first StartFailure
 * once both have finished.
 */
export async function startServices(services: Services, context: ServicesContext): Promise<void> {
  const { settings } = context;
  if (settings.databaseUrl === undefined && !existsSync(join(settings.dataDir, 'postgres', 'PG_VERSION'))) {
    checkFreeSpace(settings.dataDir);
  }
  const outcomes = await Promise.allSettled([
    settings.databaseUrl === undefined ? startPostgres(services, context) : undefined,
    settings.redisUrl === undefined ? startRedis(services, context) : undefined,
  ]);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') {
      throw outcome.reason;
    }
  }
}

/** Returns the embedded servers to be watched and restarted. */
export function watchedServices(services: Services, context: ServicesContext): WatchedService[] {
  const logFile = (name: string) => join(context.settings.dataDir, 'logs', `${name}.log`);
  return [
    {
      name: 'Postgres',
      current: () => services.postgres,
      start: () => startPostgres(services, context),
      logFile: logFile('postgres'),
    },
    {
      name: 'Redis',
      current: () => services.redis,
      start: () => startRedis(services, context),
      logFile: logFile('redis'),
    },
  ];
}

/** Starts the embedded Postgres and enters it into `services`. Throws StartFailure. */
async function startPostgres(services: Services, context: ServicesContext): Promise<EmbeddedPostgres> {
  const { settings, terminal } = context;
  const step = terminal.step('Postgres');
  try {
    const postgres = await startEmbeddedPostgres({
      dataDir: settings.dataDir,
      logFile: join(settings.dataDir, 'logs', 'postgres.log'),
      onProgress: step.update,
    });
    services.postgres = postgres;
    const moved = postgres.moved ? ' (its account cannot enter the data folder)' : '';
    const place = `data in ${shortFolder(context.root, postgres.clusterFolder)}${moved}`;
    step.done(`port ${postgres.port}, ${postgres.adopted ? 'still running, taken over' : place}`);
    return postgres;
  } catch (error) {
    step.fail();
    throw error;
  }
}

/** Starts the embedded Redis and enters it into `services`. Throws StartFailure. */
async function startRedis(services: Services, context: ServicesContext): Promise<EmbeddedRedis> {
  const { settings, terminal, environment } = context;
  const step = terminal.step('Redis');
  try {
    const redis = await startEmbeddedRedis({
      dataDir: settings.dataDir,
      logFile: join(settings.dataDir, 'logs', 'redis.log'),
      onProgress: step.update,
      environment,
      cacheFolders: redisCacheFolders(environment, settings.dataDir),
    });
    services.redis = redis;
    step.done(
      `port ${redis.port}, version ${redis.version}${redis.adopted ? ', still running, taken over' : ''}`,
    );
    return redis;
  } catch (error) {
    step.fail();
    throw error;
  }
}

function shortFolder(root: string, folder: string): string {
  const fromRoot = relative(root, folder);
  return fromRoot.startsWith('..') ? folder : fromRoot;
}
