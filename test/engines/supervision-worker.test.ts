import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { compiled } from '../setup/compiled.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SERVER = fileURLToPath(new URL('fake-engine-server.mjs', import.meta.url));

let database: TestDatabase;
let folder: string;
let journal: string;
let worker: ChildProcess | undefined;

beforeAll(async () => {
  folder = temporaryFolder('supervised-worker');
  database = await createTestDatabase();
  journal = join(folder, 'journal');
  await writeFile(
    join(folder, 'tollgate.yaml'),
    `
models:
  - { id: image, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: local-sd, model: m }] }
engines:
  - id: local-sd
    kind: sdcpp
    slots: auto
    process:
      command: [${process.execPath}, ${SERVER}, "{port}"]
      env: { FAKE_JOURNAL: ${journal} }
      health: /health
`,
  );
});

afterEach(() => {
  worker?.kill('SIGKILL');
});

afterAll(async () => {
  await database?.close();
});

function events(event: string): { pid: number }[] {
  const text = existsSync(journal) ? readFileSync(journal, 'utf8') : '';
  return text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as { event: string; pid: number })
    .filter((found) => found.event === event);
}

/** Starts the worker's own entry point, as an operator does. Resolves when it says that it is ready. */
async function startWorker(queues: string): Promise<{ exit: Promise<number | null>; output(): string }> {
  let output = '';
  const child = spawn(process.execPath, [await compiled('workers/main.ts'), `--queues=${queues}`], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl(),
      DATA_DIR: folder,
      TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
      TOLLGATE_SECRET: 'a secret of the installation, for tests',
      ADMIN_TOKEN: 'an-admin-token-for-tests-0123456789',
      DRAIN_SECONDS: '5',
    },
  });
  worker = child;
  const exit = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
    });
  }
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', (code) => reject(new Error(`the worker ended with code ${code}: ${output}`)));
  });
  return { exit, output: () => output };
}

test('starts the servers of the pools a worker serves, and stops them when the worker is told to stop', async () => {
  const idle = await startWorker('webhooks');
  worker?.kill('SIGTERM');
  expect(await idle.exit).toBe(0);
  expect(idle.output()).toContain('worker ready');
  expect(idle.output()).not.toContain('engine process started');
  expect(events('start')).toEqual([]);

  const serving = await startWorker('generate:local-sd');
  const [started] = await eventually(async () => (events('start').length > 0 ? events('start') : undefined));
  expect(events('sigterm')).toEqual([]);
  worker?.kill('SIGTERM');
  expect(await serving.exit).toBe(0);
  expect(serving.output()).toContain('engine process started');
  expect(events('sigterm').map(({ pid }) => pid)).toEqual([started?.pid]);
  expect(existsSync(join(folder, 'engines', 'local-sd.json'))).toBe(false);
});

/** A Redis database for this file only: workers of other tests must not take its jobs. */
function redisUrl(): string {
  const url = new URL(process.env.TEST_REDIS_URL ?? '');
  url.pathname = '/15';
  return url.href;
}
