import { type ChildProcess, fork } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startWholeApplication } from '../api/support/whole-application.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { type Customer, createCustomer, orderImage } from '../operators/support/customer.ts';
import type { OperatorServer } from '../operators/support/operator-server.ts';
import { compiled } from '../setup/compiled.ts';
import { type FaultProxy, startFaultProxy } from '../setup/fault-proxy.ts';

/** Small, because the content of the media is not what is tested. */
const CATALOG = `
models:
  - id: acme/film
    endpoints: [video]
    pricing: { request: "0.04" }
    media: { sizes: [256*256], seconds: [1] }
    routes: [{ engine: local }]
  - { id: image-turbo, endpoints: [image], pricing: { request: "0.005" }, routes: [{ engine: local }] }
engines: [{ id: local, kind: builtin }]
`;

let server: OperatorServer;
/** The connection between the host and the API. */
let line: FaultProxy;
let customer: Customer;
let folder: string;
let token: string;
const children = new Set<ChildProcess>();

/** Starts the shipped entry point with only these settings. */
async function start(environment: NodeJS.ProcessEnv, queues: string): Promise<ChildProcess> {
  const { PATH, FFMPEG_PATH, FFPROBE_PATH } = process.env;
  const child = fork(await compiled('workers/main.ts'), [`--queues=${queues}`], {
    env: { PATH, FFMPEG_PATH, FFPROBE_PATH, LOG_LEVEL: process.env.TEST_LOG ?? 'silent', ...environment },
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('exit', (code) => reject(new Error(`the worker ended with code ${code}`)));
  });
  return child;
}

function startRemote(): Promise<ChildProcess> {
  return start(
    {
      WORKER_API: `http://127.0.0.1:${line.port}`,
      WORKER_TOKEN: token,
      WORKER_NAME: 'host-1',
      TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
      DATA_DIR: folder,
      DRAIN_SECONDS: '1',
    },
    'generate',
  );
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return await ended;
}

beforeAll(async () => {
  folder = temporaryFolder('remote');
  await writeFile(join(folder, 'tollgate.yaml'), 'engines: [{ id: local, kind: builtin, slots: 4 }]\n');
  const sold = join(folder, 'sold.yaml');
  await writeFile(sold, CATALOG);
  server = await startWholeApplication({ redisDatabase: 6, environment: { TOLLGATE_CONFIG: sold } });
  const targetPort = Number(new URL(server.url).port);
  line = await startFaultProxy({ targetHost: '127.0.0.1', targetPort, cutReplyChance: 0 });
  customer = await createCustomer(server);
  const body = { name: 'rented', pools: ['local'] };
  token = (await server.call('POST', '/admin/v1/worker-tokens', { body })).json.token;
  await start({ ...server.environment, WORKER_NAME: 'inside' }, 'postprocess,maintenance');
});

afterAll(async () => {
  await Promise.all([...children].map((child) => end(child, 'SIGKILL')));
  await line?.close();
  await server?.close();
});

async function orderFilm(): Promise<void> {
  const body = { model: 'acme/film', prompt: 'a canary in a coal mine' };
  const { status } = await server.call('POST', '/api/v1/videos', { token: customer.secret, body });
  expect(status).toBe(200);
}

interface TaskRow {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly entries: number;
  readonly charged: boolean;
}

/** Returns all tasks once none is waiting any more. */
async function allEnded(count: number): Promise<TaskRow[]> {
  return await eventually(
    async () => {
      const { rows } = await server.db.database.money.query<TaskRow>(
        `SELECT t.id, t.state, t.attempt,
                (SELECT count(*) FROM ledger_entries e WHERE e.reference = t.id)::integer AS entries
           FROM tasks t WHERE completed_at IS NOT NULL`,
      );
      return rows.length === count && rows;
    },
    40_000,
    `the end of ${count} tasks`,
  );
}

async function unended(): Promise<{ state: string }[]> {
  const { rows } = await server.db.database.money.query('SELECT state FROM tasks WHERE completed_at IS NULL');
  return rows;
}

/** Expires the leases of a dead worker, as time would. */
async function lapse(): Promise<void> {
  await server.db.database.money.query(
    `UPDATE tasks SET lease_until = statement_timestamp() - interval '1 s' WHERE state = 'generating'`,
  );
}

test('makes images and videos on a worker without database and Redis, killed at any point, and charges each once', async () => {
  let remote = await startRemote();
  await orderFilm();
  let ordered = 1;
  const order = async (count: number) => {
    for (let number = 0; number < count; number += 1) {
      await orderImage(server, customer);
    }
    ordered += count;
  };
  await order(1);
  const made = await allEnded(ordered);
  expect(made.map(({ state, attempt, entries }) => ({ state, attempt, entries }))).toEqual(
    [1, 2].map(() => ({ state: 'succeeded', attempt: 2, entries: 1 })),
  );
  const { json } = await server.call('GET', '/admin/v1/workers');
  expect(json.data.map(({ host, queues }: { host: string; queues: string[] }) => [host, queues])).toEqual([
    ['inside', ['postprocess', 'maintenance']],
    ['rented:host-1', ['generate-local']],
  ]);
  // while the API is away, the worker waits for it, and orders wait for the worker
  line.sever();
  line.freeze();
  await order(4);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect((await unended()).map(({ state }) => state)).toEqual(Array.from({ length: 4 }, () => 'queued'));
  line.thaw();
  await allEnded(ordered);
  // one point of many: `npm run chaos -- --only=H4` kills twenty times
  await order(6);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
  await end(remote, 'SIGKILL');
  await lapse();
  remote = await startRemote();
  const all = await allEnded(ordered);
  expect(all.filter(({ state, entries }) => state !== 'succeeded' || entries !== 1)).toEqual([]);
  expect(await end(remote, 'SIGTERM')).toBe(0);
  // one that exits cleanly is unregistered, unlike those that were killed
  expect((await server.call('GET', '/admin/v1/workers')).text).not.toContain(`host-1.${remote.pid}"`);
});
