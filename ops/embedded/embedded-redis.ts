import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, readdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConnection, writeConnection } from './connection-file.ts';
import type { EmbeddedService, EmbeddedServiceOptions } from './embedded-service.ts';
import { choosePort } from './free-port.ts';
import { isAlive, processIdentity, stopProcess } from './process-identity.ts';
import { findRedisBinary, type RedisBinary } from './redis-binary.ts';
import { probeRedis } from './redis-probe.ts';
import { redisSettings } from './redis-settings.ts';
import { logSize, openLog, readLogFrom } from './service-log.ts';
import { explainFileError, explainFullDisk, StartFailure } from './start-failure.ts';

export type EmbeddedRedis = EmbeddedService & { redisUrl: string; version: string };

export type EmbeddedRedisOptions = EmbeddedServiceOptions & {
  /** Environment for PATH, and for what a download needs (proxy settings). */
  environment: NodeJS.ProcessEnv;
  /** Folders for a downloaded server, best first: see redisCacheFolders. */
  cacheFolders: readonly string[];
};

type RedisConnection = { port: number; password: string; pid?: number; identity?: string };

const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 15;
const STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 15_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/**
 * Starts Redis on the loopback address with its files in `dataDir`/redis. Takes over a healthy server left by an earlier run;
 * stops an unhealthy one first. Sets aside files that it cannot load: Postgres is the source of truth, Redis only a cache. Throws
 * StartFailure with one line that says what is wrong.
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const connectionFile = join(options.dataDir, 'redis.json');
  const folder = join(options.dataDir, 'redis');
  const remembered = readRedisConnection(connectionFile);
  const orphan = remembered === undefined ? undefined : await adoptOrStopOrphan(remembered, folder);
  if (orphan !== undefined && remembered !== undefined) {
    return describe(orphan.pid, orphan.version, remembered, true);
  }
  const binary = await findRedisBinary({
    environment: options.environment,
    cacheFolders: options.cacheFolders,
    onProgress: options.onProgress ?? (() => undefined),
  });
  const connection: RedisConnection = {
    port: await choosePort(remembered?.port),
    password: remembered?.password ?? randomBytes(24).toString('hex'),
  };
  writeConnection(connectionFile, connection);
  const pid = await launchWithFreshFallback(folder, binary, connection, options);
  return describe(pid, binary.version, connection, false);
}

function describe(
  pid: number,
  version: string,
  connection: RedisConnection,
  adopted: boolean,
): EmbeddedRedis {
  return {
    pid,
    port: connection.port,
    adopted,
    version,
    redisUrl: `redis://:${connection.password}@127.0.0.1:${connection.port}/0`,
    stop: () => stopRedis(pid),
  };
}

async function stopRedis(pid: number): Promise<void> {
  if (!(await stopProcess(pid, STOP_STEPS))) {
    throw new StartFailure(`Redis (process ${pid}) does not stop. Stop it with: kill -9 ${pid}`);
  }
}

async function adoptOrStopOrphan(
  connection: RedisConnection,
  folder: string,
): Promise<{ pid: number; version: string } | undefined> {
  const facts = await probeRedis(connection.port, connection.password);
  if (facts !== undefined && isSameFolder(facts.folder, folder)) {
    return facts;
  }
  const { pid, identity } = connection;
  if (pid !== undefined && identity !== undefined && processIdentity(pid) === identity) {
    await stopRedis(pid);
  }
  return undefined;
}

async function launchWithFreshFallback(
  folder: string,
  binary: RedisBinary,
  connection: RedisConnection,
  options: EmbeddedRedisOptions,
): Promise<number> {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return await launch(folder, binary, connection, options);
  } catch (error) {
    const hasFiles = readdirSync(folder).some((name) => name !== 'redis.conf');
    if (!(error instanceof UnloadableFiles) || !hasFiles) {
      throw error;
    }
    const aside = `${folder}.unreadable-${Date.now()}`;
    renameSync(folder, aside);
    options.onProgress?.(`its files could not be loaded and were set aside in ${aside}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return await launch(folder, binary, connection, options);
  }
}

/** The server exited while starting, for a reason other than a full disk. */
class UnloadableFiles extends StartFailure {}

async function launch(
  folder: string,
  binary: RedisBinary,
  connection: RedisConnection,
  options: EmbeddedRedisOptions,
): Promise<number> {
  const configFile = join(folder, 'redis.conf');
  try {
    // The password is in a file and not on the command line, which everyone on the machine can read.
    const settings = redisSettings({ ...connection, folder, durable: options.durable ?? true });
    writeFileSync(configFile, settings, { mode: 0o600 });
  } catch (error) {
    throw explainFileError(error, configFile);
  }
  const logStart = logSize(options.logFile);
  const log = openLog(options.logFile);
  // Detached: Ctrl-C in the terminal reaches the whole group, and Redis must outlive the draining app.
  const child = spawn(binary.command, [configFile], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', ...binary.environment },
  });
  closeSync(log);
  child.on('error', () => undefined);
  child.unref();
  if (child.pid === undefined) {
    throw new StartFailure(
      `${binary.command} cannot be executed. Install redis-server 6.2+, or set REDIS_URL.`,
    );
  }
  // Written before the server is ready: if this process is killed in between, the next start finds the server.
  const remembered = { ...connection, pid: child.pid, identity: processIdentity(child.pid) };
  writeConnection(join(options.dataDir, 'redis.json'), remembered);
  await waitUntilReady(child.pid, connection, options, logStart);
  return child.pid;
}

async function waitUntilReady(
  pid: number,
  connection: RedisConnection,
  options: EmbeddedRedisOptions,
  logStart: number,
): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const facts = await probeRedis(connection.port, connection.password);
    if (facts?.pid === pid) {
      return;
    }
    if (!isAlive(pid)) {
      const output = readLogFrom(options.logFile, logStart);
      throw explainFullDisk(output, options.dataDir) ?? new UnloadableFiles(earlyExitReason(output, options));
    }
    await sleep(POLL_MS);
  }
  await stopRedis(pid);
  throw new StartFailure(
    `Redis did not become ready within ${READY_TIMEOUT_MS / 1000} s. See its log: ${options.logFile}`,
  );
}

function earlyExitReason(output: string, options: EmbeddedRedisOptions): string {
  const lines = output.split('\n').filter((line) => /Fatal|Bad|error|FATAL|\d # /i.test(line));
  const reason = (lines.at(-1) ?? 'it exited immediately').replace(/^.*? # /, '').trim();
  return `Redis did not start: ${reason}. See its log: ${options.logFile}`;
}

function isSameFolder(left: string, right: string): boolean {
  try {
    return realpathSync(left) === realpathSync(right);
  } catch {
    return false;
  }
}

function readRedisConnection(path: string): RedisConnection | undefined {
  const content = readConnection(path);
  if (content === undefined) {
    return undefined;
  }
  const { port, password, pid, identity } = content;
  if (typeof port !== 'number' || typeof password !== 'string') {
    throw new StartFailure(`${path} is damaged. Delete it: Redis then gets a new password.`);
  }
  return {
    port,
    password,
    ...(typeof pid === 'number' ? { pid } : {}),
    ...(typeof identity === 'string' ? { identity } : {}),
  };
}
