import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { COMPOSE_VARIABLES, readComposeFile } from './compose-file.ts';
import { type ComposedProcess, startService, untilReady, untilSaid } from './composed-process.ts';

const READY_LINE = 'worker ready';

/** API and worker processes of docker-compose.yml on their own database. */
export interface Installation {
  /** Addresses of the API processes. */
  readonly urls: readonly string[];
  readonly processes: readonly ComposedProcess[];
  /** Database URL of the schema owner. */
  readonly ownerUrl: string;
  readonly redisUrl: string;
  /** Returns the process id of the worker that runs a task, by the task's stored id. */
  workerOf(taskId: string): Promise<number>;
  /** Opens an account with credits as an operator and returns its owner key. */
  openAccount(url: string, credits: string): Promise<string>;
  /** Sends SIGTERM to all processes and returns their exit codes. */
  stop(): Promise<(number | null)[]>;
  /** Ends the remaining processes and drops the database. */
  remove(): Promise<void>;
}

export interface InstallationOptions {
  /** The compiled application. */
  readonly folder: string;
  /** Redis database number; test files that run at the same time need different ones. */
  readonly redisDatabase: number;
  readonly apis: number;
  /** The arguments of each worker. */
  readonly workers: readonly (readonly string[])[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** Migrates an empty database and starts all processes. Throws with the output of a process that does not become ready. */
export async function install(options: InstallationOptions): Promise<Installation> {
  const compose = readComposeFile(COMPOSE_VARIABLES);
  const database = `deployment_${randomBytes(6).toString('hex')}`;
  await asOwner(`CREATE DATABASE ${database}`);
  const outside = outsideSettings(database, options);
  const processes: ComposedProcess[] = [];
  const remove = async () => {
    for (const running of processes) {
      running.kill();
    }
    await asOwner(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await rm(outside.DATA_DIR, { recursive: true, force: true });
  };
  try {
    const migrate = startService(compose, 'migrate', options.folder, {
      DATABASE_URL: outside.DATABASE_URL,
      DATABASE_OWNER_URL: urlOf('TEST_DATABASE_OWNER_URL', database),
    });
    if ((await migrate.exited) !== 0 || !migrate.output().includes('applied: 0001-')) {
      throw new Error(`the migration failed: ${migrate.output()}`);
    }
    const ports = await Promise.all(Array.from({ length: options.apis }, () => choosePort()));
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const apis = ports.map((port) =>
      startService(compose, 'api', options.folder, { ...outside, PORT: String(port) }),
    );
    const workers = options.workers.map((args) =>
      startService(compose, 'worker', options.folder, outside, args),
    );
    processes.push(...apis, ...workers);
    await Promise.all([
      ...apis.map((api, index) => untilReady(api, `${urls[index]}/readyz`)),
      ...workers.map((worker) => untilSaid(worker, READY_LINE)),
    ]);
    return {
      urls,
      processes,
      ownerUrl: urlOf('TEST_DATABASE_OWNER_URL', database),
      redisUrl: outside.REDIS_URL,
      workerOf: (taskId) => workerOf(urlOf('TEST_DATABASE_OWNER_URL', database), taskId),
      openAccount,
      stop: () => Promise.all(processes.map((running) => running.stop())),
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Returns replacements for what only exists in a container: host names, folders, programs. */
function outsideSettings(database: string, { folder, redisDatabase, settings }: InstallationOptions) {
  const redis = new URL(process.env.TEST_REDIS_URL!);
  redis.pathname = `/${redisDatabase}`;
  return {
    DATABASE_URL: urlOf('TEST_DATABASE_URL', database),
    DATABASE_CONNECTIONS: '8',
    HOST: '127.0.0.1',
    WORKER_PORT: '0',
    REDIS_URL: redis.href,
    DATA_DIR: join(folder, `data-${database}`),
    TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
    FFMPEG_PATH: process.env.FFMPEG_PATH!,
    FFPROBE_PATH: process.env.FFPROBE_PATH!,
    ...settings,
  };
}

async function openAccount(url: string, credits: string): Promise<string> {
  const authorization = `Bearer ${COMPOSE_VARIABLES.ADMIN_TOKEN}`;
  const body = { name: 'a customer', credits };
  const { key } = await post<{ key: string }>(`${url}/admin/v1/accounts`, authorization, body);
  return key;
}

/** Makes a call that must succeed and returns its body. */
export async function post<Answer>(url: string, authorization: string, body: unknown): Promise<Answer> {
  const headers = { authorization, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) {
    throw new Error(`${url}: ${response.status} ${await response.text()}`);
  }
  return (await response.json()) as Answer;
}

/** Resolves to a task's result once it has ended. */
export async function taskEnd(url: string, key: string, taskId: string): Promise<TaskEnd> {
  for (;;) {
    const response = await fetch(`${url}/v3/async/task-result?task_id=${taskId}`, {
      headers: { authorization: `Bearer ${key}`, prefer: 'wait=20' },
    });
    const result = (await response.json()) as TaskEnd;
    if (!/QUEUED|PROCESSING/.test(result.task.status)) {
      return result;
    }
  }
}

export interface TaskEnd {
  readonly task: { readonly status: string };
  readonly images: readonly { readonly image_url: string }[];
  readonly videos: readonly { readonly video_url: string }[];
  readonly extra: { readonly charged_amount: string };
}

function urlOf(variable: string, name: string): string {
  const url = new URL(process.env[variable]!);
  url.pathname = `/${name}`;
  return url.href;
}

async function workerOf(ownerUrl: string, taskId: string): Promise<number> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ worker: string }>('SELECT worker FROM tasks WHERE id = $1', [
      taskId,
    ]);
    return Number(rows[0]?.worker.split('.').at(-1));
  } finally {
    await client.end();
  }
}

async function asOwner(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_OWNER_URL });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
