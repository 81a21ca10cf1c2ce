import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { type EmbeddedRedis, startEmbeddedRedis } from '../embedded/embedded-redis.ts';
import { redisCacheFolders } from '../embedded/redis-binary.ts';
import { checkFreeSpace } from './data-folder.ts';
import type { WatchedService } from './service-watch.ts';
import type { SupervisorSettings } from './settings.ts';
import type { Terminal } from './terminal.ts';

/** What runs so far; filled as soon as each is there, so that a failure of one still finds the other to stop. */
export type Services = { postgres?: EmbeddedPostgres; redis?: EmbeddedRedis };

export type ServicesContext = {
  settings: SupervisorSettings;
  environment: NodeJS.ProcessEnv;
  root: string;
  terminal: Terminal;
};

/**
 * Starts the servers that no URL was given for, both at a time, and enters them into `services`.
 * Throws the first StartFailure after both have ended trying.
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

/** The embedded servers, to be started again when they end. */
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
    const moved = postgres.moved ? ' (the data folder cannot be entered by its account)' : '';
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
