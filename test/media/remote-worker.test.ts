import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { compiled } from '../setup/compiled.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOKEN = 'a-storage-token-for-tests-long-enough';
const CATALOG = `
models:
  - { id: image-turbo, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: local, model: m }] }
engines:
  - { id: local, kind: builtin }
`;

let database: TestDatabase;
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = temporaryFolder('remote');
  database = await createTestDatabase();
  await writeFile(join(folder, 'tollgate.yaml'), CATALOG);
});

afterAll(async () => {
  await Promise.all(children.map(stop));
  await database?.close();
});

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve();
      return;
    }
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}

/** Starts one process as an operator does. Resolves with its address once it is ready. */
async function start(
  script: string,
  args: string[],
  settings: Record<string, string>,
): Promise<string | undefined> {
  let output = '';
  const child = spawn(process.execPath, [await compiled(script), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl(),
      TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
      FFMPEG_PATH: process.env.FFMPEG_PATH,
      FFPROBE_PATH: process.env.FFPROBE_PATH,
      PORT: '0',
      DRAIN_SECONDS: '1',
      ...settings,
    },
  });
  children.push(child);
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
    });
  }
  return await new Promise((resolve, reject) => {
    child.once('message', (message) => resolve((message as { address?: string }).address));
    child.once('exit', (code) => reject(new Error(`${script} ended with code ${code}: ${output}`)));
  });
}

test('generates for the installation on a worker host that shares no disk, bucket or secret', async () => {
  const home = {
    DATA_DIR: join(folder, 'home'),
    TOLLGATE_SECRET: 'a secret of the installation, for tests',
    ADMIN_TOKEN: 'an-admin-token-for-tests-0123456789',
    STORAGE_TOKEN: TOKEN,
  };
  const api = await start('src/server.ts', [], home);
  const away = {
    DATA_DIR: join(folder, 'away'),
    TOLLGATE_SECRET: 'another secret, which the GPU host made itself',
    ADMIN_TOKEN: 'another-token-0123456789abcdef',
    STORAGE: 'remote',
    STORAGE_URL: api ?? '',
    STORAGE_TOKEN: TOKEN,
  };
  await Promise.all([
    start('workers/main.ts', ['--queues=generate:local'], away),
    start('workers/main.ts', ['--queues=postprocess,webhooks,maintenance'], home),
  ]);
  const account = await createAccount(database.database);
  const { secret } = await createKey(database.database, account.id);
  const call = async (path: string, body?: object) => {
    const answer = await fetch(`${api}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return (await answer.json()) as {
      task_id: string;
      task: { status: string };
      images: { image_url: string }[];
    };
  };
  const order = { model_name: 'image-turbo', prompt: 'a quiet sea', size: '256*256' };
  const { task_id } = await call('/v3/async/image-turbo', order);
  const result = await eventually(
    async () => {
      const found = await call(`/v3/async/task-result?task_id=${task_id}`);
      return found.task.status === 'TASK_STATUS_SUCCEED' ? found : undefined;
    },
    30_000,
    `the end of ${task_id}`,
  );
  const url = new URL(result.images[0]!.image_url);
  const picture = await fetch(`${api}${url.pathname}${url.search}`);
  expect(picture.status).toBe(200);
  expect(
    Buffer.from(await picture.arrayBuffer())
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
  expect(existsSync(join(folder, 'away', 'media'))).toBe(false);
  expect(
    (await readdir(join(folder, 'home', 'uploads'))).filter((name) => name.endsWith('.used')),
  ).toHaveLength(1);
});

/** A Redis database for this file only: workers of other tests must not take its jobs. */
function redisUrl(): string {
  const url = new URL(process.env.TEST_REDIS_URL ?? '');
  url.pathname = '/14';
  return url.href;
}
