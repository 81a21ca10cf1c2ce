import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fetchRedisWithApt } from './redis-from-apt.ts';
import { installRedis } from './redis-install.ts';
import type { RedisSearch } from './redis-search.ts';
import { runCommand } from './run-command.ts';
import { StartFailure } from './start-failure.ts';

export type RedisBinary = { command: string; environment: Record<string, string>; version: string };

const OLDEST_VERSION = [6, 2] as const;
const PROGRAM_NAMES = ['redis-server', 'valkey-server'];

/** Per-user cache first, so that a second clone and the tests need no download; the data folder where that fails. */
export function redisCacheFolders(environment: NodeJS.ProcessEnv, dataDir: string): string[] {
  const userCache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const name = `redis-${process.platform}-${process.arch}`;
  return [join(userCache, 'tollgate', name), join(dataDir, 'runtime', name)];
}

/**
 * Finds a Redis (or Valkey) server ≥ 6.2, fetching one when there is none. Order: PATH, our cache, rootless from the
 * distribution's packages, then an install by the system's package manager. The rootless way comes before the install
 * even for root, because it changes nothing outside our own folders and starts no system service.
 * Throws StartFailure with one line when nothing worked.
 */
export async function findRedisBinary(search: RedisSearch): Promise<RedisBinary> {
  const tooOld: string[] = [];
  for (const candidate of programsOnPath(search.environment.PATH ?? '')) {
    const version = await redisVersion(candidate, {});
    if (version !== undefined && isRecentEnough(version)) {
      return { command: candidate, environment: {}, version };
    }
    tooOld.push(
      `${candidate} is ${version === undefined ? 'not runnable' : `version ${version}, 6.2 is the oldest that works`}`,
    );
  }
  for (const folder of search.cacheFolders) {
    const cached = await openRedisFolder(folder);
    if (cached !== undefined) {
      return cached;
    }
  }
  const reasons = [...tooOld];
  for (const attempt of [fetchRedisWithApt, installRedis]) {
    const outcome = await attempt(search);
    const found = 'folder' in outcome ? await openRedisFolder(outcome.folder) : undefined;
    if (found !== undefined) {
      return found;
    }
    const command = 'command' in outcome ? outcome.command : undefined;
    const version = command === undefined ? undefined : await redisVersion(command, {});
    if (command !== undefined && version !== undefined && isRecentEnough(version)) {
      return { command, environment: {}, version };
    }
    reasons.push('reason' in outcome ? outcome.reason : 'the fetched server does not run');
  }
  throw new StartFailure(
    `No Redis server: ${reasons.filter((reason) => reason !== '').join('; ') || 'none on PATH'}. Install redis-server 6.2+, or set REDIS_URL.`,
  );
}

/** Opens a folder laid out by the rootless fetch: `bin/redis-server` and the libraries it needs in `lib`. */
export async function openRedisFolder(folder: string): Promise<RedisBinary | undefined> {
  const command = join(folder, 'bin', 'redis-server');
  if (!existsSync(command)) {
    return undefined;
  }
  const environment = { LD_LIBRARY_PATH: join(folder, 'lib') };
  const version = await redisVersion(command, environment);
  return version !== undefined && isRecentEnough(version) ? { command, environment, version } : undefined;
}

/** The version a server program prints, or undefined when it does not run. */
export async function redisVersion(
  command: string,
  environment: Record<string, string>,
): Promise<string | undefined> {
  const result = await runCommand(command, ['--version'], {
    env: { PATH: '/usr/bin:/bin', ...environment },
    timeoutMs: 10_000,
  });
  return /\bv=(\d+\.\d+\.\d+)/.exec(result.stdout)?.[1];
}

function isRecentEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor >= OLDEST_VERSION[1]);
}

function programsOnPath(path: string): string[] {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return PROGRAM_NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).filter(existsSync);
}
