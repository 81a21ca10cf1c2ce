import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { type EmbeddedRedis, startEmbeddedRedis } from '../../ops/embedded/embedded-redis.ts';
import { redisCacheFolders } from '../../ops/embedded/redis-binary.ts';

export type TestServices = {
  folder: string;
  postgres: EmbeddedPostgres;
  redis: EmbeddedRedis;
  /** Stops both servers and removes the folder. */
  stop: () => Promise<void>;
};

const GUARD_FILE = fileURLToPath(new URL('service-guard.mjs', import.meta.url));
const GUARD_TIMEOUT_MS = 15_000;

/**
 * Starts a throw-away Postgres and Redis on free ports in a new temporary folder. TEST_DURABLE=1 in `environment`
 * keeps fsync on. They also stop when this process dies in any way. Throws StartFailure.
 */
export async function startTestServices(environment: NodeJS.ProcessEnv): Promise<TestServices> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'));
  chmodSync(folder, 0o711);
  const release = guardServices(folder);
  try {
    const durable = environment.TEST_DURABLE === '1';
    const shared = { dataDir: folder, durable };
    const [postgres, redis] = await Promise.all([
      startEmbeddedPostgres({ ...shared, logFile: join(folder, 'logs', 'postgres.log') }),
      startEmbeddedRedis({
        ...shared,
        logFile: join(folder, 'logs', 'redis.log'),
        environment,
        cacheFolders: redisCacheFolders(environment, folder),
      }),
    ]);
    return { folder, postgres, redis, stop: release };
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * From now on the servers with their files in this folder stop when this process dies in any way, and the folder goes. Returns what
 * does both at once.
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
