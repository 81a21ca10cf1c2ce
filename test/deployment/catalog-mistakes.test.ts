import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { temporaryPath } from '../../src/media/temporary-folder.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { compiled } from '../setup/compiled.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const catalogOf = (...engines: readonly string[]) => `
models:
  - { id: image-two, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: first }] }
engines: [${engines.join(', ')}]
`;
const FIRST = '{ id: first, kind: builtin }';
const comfyUi = (file: string) =>
  `{ id: comfy, kind: comfyui, base_url: "http://127.0.0.1:1",
     workflows: { tiny: { kind: image, file: ${file}, parameters: { prompt: 6.inputs.text } } } }`;
const graphOf = (text: string) => JSON.stringify({ 6: { class_type: 'CLIPTextEncode', inputs: { text } } });
const GOOD = catalogOf(FIRST);
const BAD = catalogOf(FIRST, '{ id: second, kind: nosuch }');

let database: TestDatabase;
let folder: string;
let catalog: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = temporaryFolder('catalog-mistakes');
  catalog = join(folder, 'tollgate.yaml');
  database = await createTestDatabase();
});

afterEach(() => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
  }
});

afterAll(async () => {
  await database?.close();
});

/** Starts an entry point of the product in its own process. */
async function start(
  variables: Readonly<Record<string, string>>,
  program: string,
  ...args: readonly string[]
) {
  const redis = new URL(process.env.TEST_REDIS_URL ?? '');
  redis.pathname = '/10';
  const child = spawn(process.execPath, [await compiled(program), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      REDIS_URL: redis.href,
      DATA_DIR: folder,
      TOLLGATE_CONFIG: catalog,
      TOLLGATE_SECRET: 'a secret of the installation, for tests',
      ADMIN_TOKEN: 'an-admin-token-for-tests-0123456789',
      PORT: '0',
      DRAIN_SECONDS: '1',
      ...variables,
    },
  });
  children.push(child);
  const said = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    said.stdout += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    said.stderr += chunk.toString();
  });
  return { child, said, code: new Promise<number | null>((resolve) => child.once('close', resolve)) };
}

test.each([
  ['an engine that cannot be built', BAD, 'engines[1].kind: nosuch is not one of builtin, '],
  [
    'an alias to an unknown route',
    `${GOOD}aliases: { paths: { /v2/keys: /api/v1/kays } }`,
    'aliases.paths: /v2/keys: there is no route /api/v1/kays',
  ],
])('%s: every program exits with code 2 and one line', async (_, text, mistake) => {
  await writeFile(catalog, text);
  const ends = await Promise.all(
    [
      { program: 'src/server.ts', args: [] },
      { program: 'workers/main.ts', args: [] },
      { program: 'src/operators/cli/main.ts', args: ['catalog', 'check', catalog] },
    ].map(async ({ program, args }) => {
      const { code, said } = await start({}, program, ...args);
      return { code: await code, lines: said.stderr.trim().split('\n') };
    }),
  );
  for (const { code, lines } of ends) {
    expect({ code, lines }).toEqual({
      code: 2,
      lines: [expect.stringContaining(`${catalog}: ${mistake}`)],
    });
  }
});

test('a worker adopts a changed catalog, and keeps the old one when the new one has a mistake', async () => {
  await writeFile(catalog, GOOD);
  const { pid: dead } = spawnSync('true');
  // names begin with where their process runs
  const [place = ''] = basename(temporaryPath(folder, 'task')).split('.');
  const leftovers = ['work', 'uploads', 'media/.incoming'].map((name) =>
    join(folder, name, `${place}.${dead}.0123456789ab.task.00`),
  );
  await Promise.all(leftovers.map((path) => mkdir(path, { recursive: true })));
  const worker = await start({}, 'workers/main.ts', '--queues=generate');
  const says = (text: string) => eventually(async () => worker.said.stdout.includes(text), 30_000, text);
  await says('"slots":{"generate-first":');
  // what killed processes left behind is not kept
  await eventually(async () => !leftovers.some(existsSync));
  await writeFile(catalog, BAD);
  worker.child.kill('SIGHUP');
  await says('nosuch is not one of');
  await writeFile(catalog, catalogOf(FIRST, '{ id: second, kind: builtin, slots: 3 }'));
  worker.child.kill('SIGHUP');
  await says('"generate-second":3');
  const workflow = join(folder, 'workflow.json');
  await writeFile(workflow, graphOf('a'));
  await writeFile(catalog, catalogOf(FIRST, comfyUi('workflow.json')));
  worker.child.kill('SIGHUP');
  await says('"generate-comfy":1');
  const starts = () => worker.said.stdout.split('worker ready').length;
  const before = starts();
  await writeFile(workflow, graphOf('b'));
  await eventually(async () => starts() > before, 30_000, 'a worker with the changed workflow');
  await writeFile(workflow, '{}');
  await says('is not a workflow in API format');
  worker.child.kill('SIGUSR2');
  await says('this host is about to be taken away');
  worker.child.kill('SIGTERM');
  expect(await worker.code).toBe(0);
});

test('SIGHUP ends no worker, even one that is still starting', async () => {
  await writeFile(catalog, GOOD);
  const worker = await start({ REDIS_URL: 'redis://127.0.0.1:1' }, 'workers/main.ts', '--queues=generate');
  await eventually(async () => worker.said.stdout.includes('redis'), 30_000, 'waiting for Redis');
  const ended = new Promise((resolve) => worker.child.once('exit', (_, signal) => resolve(signal)));
  worker.child.kill('SIGHUP');
  worker.child.kill('SIGTERM');
  expect(await ended).toBe('SIGTERM');
});

test('tollgate catalog check summarizes a valid file', async () => {
  await writeFile(catalog, GOOD);
  const { code, said } = await start({}, 'src/operators/cli/main.ts', 'catalog', 'check', catalog);
  expect(await code).toBe(0);
  expect(said.stdout).toBe(`${catalog}: valid (models: 1, engines: 1)\n`);
});
