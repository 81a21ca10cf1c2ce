import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fetchRedisWithApt } from './redis-from-apt.ts';
import { installRedis } from './redis-install.ts';
import type { RedisSearch } from './redis-search.ts';
import { runCommand } from './run-command.ts';
import { StartFailure } from './start-failure.ts';

export type RedisBinary = { command: string; environment: Record<string, string>; version: string };

/** Why a program cannot serve as our server. */
type Unusable = { reason: string };

const OLDEST_VERSION = [6, 2] as const;
const PROGRAM_NAMES = ['redis-server', 'valkey-server'];

/**
 * Returns the cache folders: the per-user cache first, so that a second clone and the tests need no download, then the data
 * folder as a fallback.
 */
export function redisCacheFolders(environment: NodeJS.ProcessEnv, dataDir: string): string[] {
  const userCache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache');
  const name = `redis-${process.platform}-${process.arch}`;
  return [join(userCache, 'tollgate', name), join(dataDir, 'runtime', name)];
}

/**
 * Finds a Redis (or Valkey) server ≥ 6.2, downloading one if there is none. Order: PATH, our cache, a rootless download of the
 * distribution's packages, then an install by the system's package manager. The rootless download precedes the install even for
 * root, because it changes nothing outside our own folders and starts no system service. Throws StartFailure with one line when
 * nothing worked.
 */
export async function findRedisBinary(search: RedisSearch): Promise<RedisBinary> {
  const reasons: string[] = [];
  for (const candidate of programsOnPath(search.environment.PATH ?? '')) {
    const found = await openRedis(candidate, {});
    if (!('reason' in found)) {
      return found;
    }
    reasons.push(found.reason);
  }
  for (const folder of search.cacheFolders.filter((path) => existsSync(programIn(path)))) {
    const cached = await openRedisFolder(folder);
    if (!('reason' in cached)) {
      return cached;
    }
  }
  for (const attempt of [fetchRedisWithApt, installRedis]) {
    const outcome = await attempt(search);
    const found =
      'folder' in outcome
        ? await openRedisFolder(outcome.folder)
        : 'command' in outcome
          ? await openRedis(outcome.command, {})
          : outcome;
    if (!('reason' in found)) {
      return found;
    }
    reasons.push(found.reason);
  }
  throw new StartFailure(
    `No Redis server found: ${reasons.filter((reason) => reason !== '').join('; ') || 'none on PATH'}. Install redis-server 6.2+, or set REDIS_URL.`,
  );
}

/** A folder created by the rootless download: `bin/redis-server`, and the libraries it needs in `lib`. */
function openRedisFolder(folder: string): Promise<RedisBinary | Unusable> {
  return openRedis(programIn(folder), { LD_LIBRARY_PATH: join(folder, 'lib') });
}

function programIn(folder: string): string {
  return join(folder, 'bin', 'redis-server');
}

/** Returns the program if it runs and is recent enough; otherwise the reason, in its own words. */
async function openRedis(
  command: string,
  environment: Record<string, string>,
): Promise<RedisBinary | Unusable> {
  const { code, stdout, stderr } = await runCommand(command, ['--version'], {
    env: { PATH: '/usr/bin:/bin', ...environment },
    timeoutMs: 10_000,
  });
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined) {
    const words = stderr.trim().split('\n')[0]?.slice(0, 300) || `exit code ${code}`;
    return { reason: `${command} does not run (${words})` };
  }
  return isRecentEnough(version)
    ? { command, environment, version }
    : { reason: `${command} is version ${version}, 6.2 or newer is required` };
}

function isRecentEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor >= OLDEST_VERSION[1]);
}

function programsOnPath(path: string): string[] {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return PROGRAM_NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).filter(existsSync);
}
