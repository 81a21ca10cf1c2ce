import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { type EmbeddedRedis, startEmbeddedRedis } from '../../ops/embedded/embedded-redis.ts';
import { redisCacheFolders } from '../../ops/embedded/redis-binary.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';

export type TestServices = {
  folder: string;
  postgres: EmbeddedPostgres;
  /** The first of `allRedis`. */
  redis: EmbeddedRedis;
  allRedis: readonly EmbeddedRedis[];
  /** Stops all servers and removes the folder. */
  stop: () => Promise<void>;
};

const GUARD_FILE = fileURLToPath(new URL('service-guard.mjs', import.meta.url));
const GUARD_TIMEOUT_MS = 15_000;

/**
 * Starts a throwaway Postgres and the given number of Redis servers on free ports in a new temporary folder. TEST_DURABLE=1 in
 * `environment` keeps fsync on. They also stop when this process dies for any reason. Throws StartFailure.
 */
export async function startTestServices(
  environment: NodeJS.ProcessEnv,
  redisServers = 1,
): Promise<TestServices> {
  const folder = ownTemporaryFolder('test');
  const release = guardServices(folder);
  try {
    const durable = environment.TEST_DURABLE === '1';
    const startRedis = (number: number) => {
      const dataDir = join(folder, `redis-${number}`);
      mkdirSync(dataDir);
      return startEmbeddedRedis({
        ...{ dataDir, durable, environment },
        logFile: join(folder, 'logs', `redis-${number}.log`),
        cacheFolders: redisCacheFolders(environment, folder),
      });
    };
    const startAllRedis = async () => {
      // the first one downloads the program if the system has none
      const first = await startRedis(1);
      const others = Array.from({ length: redisServers - 1 }, (_, index) => startRedis(index + 2));
      return [first, ...(await Promise.all(others))] as const;
    };
    const [postgres, allRedis] = await Promise.all([
      startEmbeddedPostgres({ dataDir: folder, durable, logFile: join(folder, 'logs', 'postgres.log') }),
      startAllRedis(),
    ]);
    return { folder, postgres, redis: allRedis[0], allRedis, stop: release };
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * Guards the servers with their files in this folder: when this process dies for any reason, they stop and the folder is removed.
 * Returns a function that does both at once.
 */
export function guardServices(folder: string): () => Promise<void> {
  const guard = spawn(process.execPath, [GUARD_FILE, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  guard.unref();
  return () => endGuard(guard);
}

function endGuard(guard: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, GUARD_TIMEOUT_MS);
    guard.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    guard.ref();
    guard.stdin?.end();
  });
}
