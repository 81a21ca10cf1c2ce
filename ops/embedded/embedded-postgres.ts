import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConnection, writeConnection } from './connection-file.ts';
import type { EmbeddedService, EmbeddedServiceOptions } from './embedded-service.ts';
import { errorMessage } from './error-code.ts';
import { choosePort } from './free-port.ts';
import { type PostgresBinaries, preparePostgresBinaries } from './postgres-binaries.ts';
import { createCluster, hasCluster } from './postgres-cluster.ts';
import { findPostgresHome, type PostgresHome } from './postgres-home.ts';
import { askClusterFolder, connectionUrl, ensureRoles, type PostgresConnection } from './postgres-roles.ts';
import { postgresSettings } from './postgres-settings.ts';
import { commandLine, isAlive, stopProcess } from './process-identity.ts';
import { logSize, openLog, readLogFrom } from './service-log.ts';
import { explainFullDisk, StartFailure } from './start-failure.ts';

export type EmbeddedPostgres = EmbeddedService & {
  /** URL of the application role: plain login, no privileges of its own. */
  databaseUrl: string;
  /** URL of the owner of the database, the superuser of this cluster, which runs the migrations. */
  ownerUrl: string;
  /** Folder of the files: below the data folder, or elsewhere when `moved`. */
  clusterFolder: string;
  moved: boolean;
};

const READY_TIMEOUT_MS = 180_000;
const LEFTOVER_SESSIONS_MS = 20_000;
const POLL_MS = 25;
const REASON = /FATAL|PANIC|error while loading/;
/** Last message of a session whose server was killed. It may end up in the log of the next server. */
const LEFTOVER_SESSION = /due to unexpected postmaster exit/;
const STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 30_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/**
 * Starts Postgres on the loopback address with its files below `dataDir`, creating them on the first start. Takes over a healthy
 * server left by an earlier run; stops an unhealthy one first. Throws StartFailure with one line that says what is wrong.
 */
export async function startEmbeddedPostgres(options: EmbeddedServiceOptions): Promise<EmbeddedPostgres> {
  const durable = options.durable ?? true;
  const home = await findPostgresHome(options.dataDir);
  const connectionFile = join(options.dataDir, 'postgres.json');
  let connection = readPostgresConnection(connectionFile);
  const exists = hasCluster(home);
  if (exists && connection === undefined) {
    throw new StartFailure(
      `${connectionFile} is missing: it holds the password of ${home.cluster}. Restore it.`,
    );
  }
  const orphan = exists && connection !== undefined ? await adoptOrStopOrphan(home, connection) : undefined;
  if (orphan !== undefined && connection !== undefined) {
    await ensureRoles(connection);
    return describe(orphan, connection, home, true);
  }
  const port = await choosePort(connection?.port);
  connection = {
    port,
    ownerPassword: connection?.ownerPassword ?? randomBytes(24).toString('hex'),
    applicationPassword: connection?.applicationPassword ?? randomBytes(24).toString('hex'),
  };
  writeConnection(connectionFile, connection);
  const binaries = await preparePostgresBinaries(home.folder, home.user);
  if (!exists) {
    options.onProgress?.('creating the database files');
    await createCluster(home, binaries, connection.ownerPassword, durable);
  }
  const pid = await launchPatiently(home, binaries, connection, options);
  await ensureRoles(connection);
  return describe(pid, connection, home, false);
}

function describe(
  pid: number,
  connection: PostgresConnection,
  home: PostgresHome,
  adopted: boolean,
): EmbeddedPostgres {
  return {
    pid,
    port: connection.port,
    adopted,
    databaseUrl: connectionUrl('application', connection),
    ownerUrl: connectionUrl('owner', connection),
    clusterFolder: home.cluster,
    moved: home.moved,
    stop: () => stopPostgres(pid),
  };
}

async function stopPostgres(pid: number): Promise<void> {
  if (!(await stopProcess(pid, STOP_STEPS))) {
    throw new StartFailure(`Postgres (process ${pid}) does not stop. Stop it with: kill -9 ${pid}`);
  }
}

async function adoptOrStopOrphan(
  home: PostgresHome,
  connection: PostgresConnection,
): Promise<number | undefined> {
  const pid = readPostmasterPid(home.cluster);
  if (pid === undefined) {
    return undefined;
  }
  if (!isAlive(pid) || !isPostmasterOf(pid, home.cluster)) {
    // A pid that now belongs to another program would make Postgres refuse to start.
    rmSync(join(home.cluster, 'postmaster.pid'), { force: true });
    return undefined;
  }
  const folder = await askClusterFolder(connection).catch(() => undefined);
  if (folder !== undefined && realpathSync(folder) === realpathSync(home.cluster)) {
    return pid;
  }
  await stopPostgres(pid);
  return undefined;
}

function isPostmasterOf(pid: number, cluster: string): boolean {
  const line = commandLine(pid);
  return line.includes('postgres') && (line.includes(cluster) || line.includes(realpathSync(cluster)));
}

function readPostmasterPid(cluster: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Retries the launch: sessions of a killed server may take a moment to notice, and hold its memory until then. */
async function launchPatiently(...parameters: Parameters<typeof launch>): Promise<number> {
  const deadline = Date.now() + LEFTOVER_SESSIONS_MS;
  while (true) {
    try {
      return await launch(...parameters);
    } catch (error) {
      if (!/pre-existing shared memory block/.test(errorMessage(error)) || Date.now() > deadline) {
        throw error;
      }
    }
    await sleep(250);
  }
}

async function launch(
  home: PostgresHome,
  binaries: PostgresBinaries,
  connection: PostgresConnection,
  options: EmbeddedServiceOptions,
): Promise<number> {
  const logStart = logSize(options.logFile);
  const log = openLog(options.logFile);
  // Detached: Ctrl-C in the terminal reaches the whole group, and the database must outlive the draining app.
  const child = spawn(
    binaries.postgres,
    ['-D', home.cluster, ...postgresSettings(connection.port, options.durable)],
    {
      detached: true,
      stdio: ['ignore', log, log],
      cwd: home.cluster,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      ...(home.user === undefined ? {} : { uid: home.user.uid, gid: home.user.gid }),
    },
  );
  closeSync(log);
  child.on('error', () => undefined);
  child.unref();
  const pid = child.pid;
  if (pid === undefined) {
    throw new StartFailure(
      `${binaries.postgres} cannot be executed. Reinstall with \`npm ci\`, or set DATABASE_URL.`,
    );
  }
  await waitUntilReady(pid, connection, options, logStart);
  return pid;
}

async function waitUntilReady(
  pid: number,
  connection: PostgresConnection,
  options: EmbeddedServiceOptions,
  logStart: number,
): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let lastError: unknown;
  while (Date.now() < deadline) {
    try {
      await askClusterFolder(connection);
      return;
    } catch (error) {
      lastError = error;
    }
    if (!isAlive(pid)) {
      throw explainEarlyExit(readLogFrom(options.logFile, logStart), options);
    }
    await sleep(POLL_MS);
  }
  await stopPostgres(pid);
  const reason = lastError === undefined ? 'no response' : errorMessage(lastError);
  throw new StartFailure(`Postgres did not become ready (${reason}). See its log: ${options.logFile}`);
}

function explainEarlyExit(output: string, options: EmbeddedServiceOptions): StartFailure {
  const fullDisk = explainFullDisk(output, options.dataDir);
  if (fullDisk !== undefined) {
    return fullDisk;
  }
  const line = output
    .split('\n')
    .find((candidate) => REASON.test(candidate) && !LEFTOVER_SESSION.test(candidate));
  const reason = (line ?? 'it exited immediately').replace(/^.*?(FATAL|PANIC):\s*/, '').trim();
  return new StartFailure(`Postgres did not start: ${reason}. See its log: ${options.logFile}`);
}

function readPostgresConnection(path: string): PostgresConnection | undefined {
  const content = readConnection(path);
  if (content === undefined) {
    return undefined;
  }
  const { port, ownerPassword, applicationPassword } = content;
  if (
    typeof port !== 'number' ||
    typeof ownerPassword !== 'string' ||
    typeof applicationPassword !== 'string'
  ) {
    throw new StartFailure(`${path} is damaged. Restore it from a backup; it holds the database password.`);
  }
  return { port, ownerPassword, applicationPassword };
}
