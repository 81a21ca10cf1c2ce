import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { ALLOCATOR_SETTINGS } from '../../ops/local/programs.ts';
import { ownTemporaryFolder } from '../factories/temporary-folder.ts';
import { compiled } from '../setup/compiled.ts';
import { createTestDatabase, patientUrl, type TestDatabase } from '../setup/database.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Generous, because several processes share two busy cores. */
const READY_TIMEOUT_MS = 180_000;
export const ADMIN_TOKEN = 'admin-token-of-the-e2e-tests';

export interface RunningService {
  readonly url: string;
  /** Owner key of the account `default`, which starts with 10.00 USD. */
  readonly key: string;
  /** Database URL of the owner. */
  readonly ownerUrl: string;
  readonly redisUrl: string;
  /** Makes an authenticated call and returns the parsed body. Throws unless the status is 2xx. */
  call<T>(path: string, init?: { body?: unknown; headers?: Record<string, string> }): Promise<T>;
  /** Returns everything the processes have logged so far, at level debug. */
  logs(): Promise<string>;
  /** Kills the worker that runs the task, like a crash; another worker continues. */
  killWorkerOf(taskId: string): Promise<void>;
  stop(): Promise<void>;
}

/** A service whose processes run on this machine. */
export interface LocalService extends RunningService {
  readonly apiPid: number;
  /** Resolves to the API's exit code, or the signal that ended it. */
  readonly apiEnd: Promise<number | string>;
}

export interface ServiceOptions {
  /** Node options of the API. */
  readonly apiOptions?: readonly string[];
  /** Node options of the worker. */
  readonly workerOptions?: readonly string[];
  /** Text of its tollgate.yaml; the repository's own by default. */
  readonly catalog?: string;
  /** Further settings of its processes. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts the service as in production: an API process and a worker process on their own database. */
export async function startService(options: ServiceOptions = {}): Promise<LocalService> {
  const db = await createTestDatabase();
  const folder = ownTemporaryFolder('e2e');
  const port = await choosePort();
  const environment = { ...environmentOf(db, folder, port), ...options.environment };
  if (options.catalog !== undefined) {
    environment.TOLLGATE_CONFIG = join(folder, 'tollgate.yaml');
    await writeFile(environment.TOLLGATE_CONFIG, options.catalog);
  }
  await runToEnd('src/operators/first-start.ts', environment);
  const scripts = { api: 'src/server.ts', worker: 'workers/main.ts' };
  const children = {
    api: await startProcess(scripts.api, environment, options.apiOptions),
    worker: await startProcess(scripts.worker, environment, options.workerOptions),
  };
  const url = `http://127.0.0.1:${port}`;
  const key = (await readFile(join(folder, 'owner.key'), 'utf8')).trim();
  return {
    url,
    key,
    ownerUrl: db.ownerUrl,
    redisUrl: environment.REDIS_URL!,
    apiPid: children.api.pid ?? 0,
    apiEnd: once(children.api, 'exit').then(([code, signal]) => (code ?? signal) as number | string),
    call: (path, init) => callService(url, key, path, init),
    logs: () => readFile(join(folder, 'processes.log'), 'utf8'),
    killWorkerOf: async () => {
      await end(children.worker, 'SIGKILL');
      children.worker = await startProcess(scripts.worker, environment, options.workerOptions);
    },
    stop: async () => {
      await Promise.all([end(children.api, 'SIGTERM'), end(children.worker, 'SIGTERM')]);
      await rm(folder, { recursive: true, force: true });
      await db.close();
    },
  };
}

function environmentOf(db: TestDatabase, folder: string, port: number): NodeJS.ProcessEnv {
  const redis = new URL(process.env.TEST_REDIS_URL!);
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    FFMPEG_PATH: process.env.FFMPEG_PATH,
    FFPROBE_PATH: process.env.FFPROBE_PATH,
    DATABASE_URL: patientUrl(db.url),
    REDIS_URL: redis.href,
    DATA_DIR: folder,
    TOLLGATE_CONFIG: join(ROOT, 'tollgate.yaml'),
    ...ALLOCATOR_SETTINGS,
    TOLLGATE_SECRET: 'a secret of the e2e tests, 32 characters',
    ADMIN_TOKEN,
    PORT: String(port),
    // the process that is measured, traced or killed must be the only one
    API_PROCESSES: '1',
    LOG_LEVEL: 'debug',
    DRAIN_SECONDS: '5',
  };
}

async function startProcess(
  script: string,
  env: NodeJS.ProcessEnv,
  nodeOptions: readonly string[] = [],
): Promise<ChildProcess> {
  const log = openSync(join(env.DATA_DIR!, 'processes.log'), 'a');
  const child = fork(await compiled(script), {
    cwd: ROOT,
    execArgv: [...nodeOptions],
    env,
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
  const ready = once(child, 'message', { signal });
  const failed = once(child, 'exit', { signal }).then(() => {
    throw new Error(`${script} ended before it was ready`);
  });
  await Promise.race([ready, failed]);
  failed.catch(() => undefined);
  return child;
}

async function runToEnd(script: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = fork(await compiled(script), {
    cwd: ROOT,
    execArgv: [],
    env,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) {
    throw new Error(`${script} ended with ${code}`);
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }
}

/** Makes an authenticated call and returns the parsed body. Throws unless the status is 2xx. */
export async function callService<T>(
  url: string,
  key: string,
  path: string,
  init: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<T> {
  const response = await fetch(url + path, {
    method: init.body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${path}: ${response.status} ${text}`);
  }
  return JSON.parse(text) as T;
}
