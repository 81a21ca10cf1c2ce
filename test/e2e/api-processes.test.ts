import { once } from 'node:events';
import { rm, stat, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { eventually } from '../factories/eventually.ts';
import { type LocalService, startService } from './running-service.ts';

const PATH = '/api/v1/chat/completions';
const SOCKET = join(tmpdir(), `tollgate-processes-${process.pid}.sock`);
const KEY_FILE = join(tmpdir(), `tollgate-processes-${process.pid}.key`);
const model = {
  ...{ endpoints: ['chat'], context_length: 8_000, max_output_tokens: 1_000 },
  pricing: { prompt: '0.00000001', completion: '0.00000002' },
};
const CATALOG = JSON.stringify({
  providers: [
    { id: 'builtin', protocol: 'builtin' },
    { id: 'slow', protocol: 'builtin', token_delay_ms: 30 },
    { id: 'unused', protocol: 'openai', base_url: 'http://127.0.0.1:1', api_key: `\${UNUSED_KEY}` },
  ],
  models: [
    { ...model, id: 'quick', routes: [{ provider: 'builtin', model: 'builtin-small' }] },
    { ...model, id: 'slow', routes: [{ provider: 'slow', model: 'builtin-small' }] },
  ],
  limits: { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, concurrency: 100 },
});
const STREAM = {
  ...{ model: 'slow', stream: true, stream_options: { include_usage: true } },
  messages: [{ role: 'user', content: `Repeat: ${'one two three '.repeat(30)}` }],
};

let service: LocalService;

async function start(): Promise<LocalService> {
  await writeFile(KEY_FILE, 'a key');
  const settings = { API_PROCESSES: '2', LISTEN_SOCKET: SOCKET, UNUSED_KEY_FILE: KEY_FILE };
  return await startService({ catalog: CATALOG, environment: { ...settings, DRAIN_SECONDS: '30' } });
}

/** Makes a request on a new connection, so that another process may receive it. */
async function ask(path: string, body?: object, socketPath?: string): Promise<IncomingMessage> {
  const sent = request(service.url + path, {
    ...{ agent: false, method: body ? 'POST' : 'GET', socketPath },
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
  });
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function call(socketPath?: string): Promise<number | undefined> {
  const body = { model: 'quick', messages: [{ role: 'user', content: 'hello' }] };
  const response = await ask(PATH, body, socketPath);
  await text(response);
  return response.statusCode;
}

/** Returns the values of a metric by process; '' for lines without a process. */
async function measured(name: string, label = ''): Promise<Record<string, number>> {
  const lines = (await text(await ask('/metrics'))).split('\n');
  const values: Record<string, number> = {};
  for (const line of lines.filter((one) => one.startsWith(name) && one.includes(label))) {
    const [, process = ''] = /process="(\d+)"/.exec(line) ?? [];
    values[process] = (values[process] ?? 0) + Number(line.split(' ').at(-1));
  }
  return values;
}

/** Returns the ids of the processes that were started in this slot, oldest first. */
async function pidsOf(slot: number): Promise<number[]> {
  const lines = (await service.logs()).split('\n').filter((line) => line.includes(`"name":"api-${slot}"`));
  const listening = lines.filter((line) => line.includes('"msg":"listening"'));
  return listening.map((line) => (JSON.parse(line) as { pid: number }).pid);
}

async function openHolds(): Promise<number> {
  const client = new pg.Client({ connectionString: service.ownerUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: string }>('SELECT count(*) FROM holds');
    return Number(rows[0]?.count);
  } finally {
    await client.end();
  }
}

/** Starts streams; each resolves to its whole text. */
async function startStreams(count: number): Promise<Promise<string>[]> {
  const responses = await Promise.all(Array.from({ length: count }, () => ask(PATH, STREAM)));
  return responses.map((response) => text(response));
}

function expectWhole(streams: readonly string[]): void {
  for (const stream of streams) {
    expect(stream).toMatch(/"usage":\{[^\n]+\n\ndata: \[DONE\]\n\n$/);
    expect(stream).not.toContain('"error"');
  }
}

describe('two API processes behind one port and socket', () => {
  beforeAll(async () => {
    service = await start();
  }, 150_000);

  afterAll(async () => {
    await service?.stop();
    await rm(KEY_FILE, { force: true });
  });

  test('share the calls, and one scrape reports the calls of both', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => call()));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const counted = await measured('tollgate_http_requests_total', `route="${PATH}"`);
    expect(Object.keys(counted)).toEqual(['1', '2']);
    expect(counted['1']! + counted['2']!).toBe(20);
    expect(Math.min(...Object.values(counted))).toBeGreaterThan(0);
    expect(await measured('tollgate_api_processes_serving')).toEqual({ '': 2 });
    expect(Object.keys(await measured('process_resident_memory_bytes'))).toEqual(['1', '2']);
  });

  test('answer on the socket, which every user may access', async () => {
    expect((await stat(SOCKET)).mode & 0o777).toBe(0o666);
    expect(await Promise.all([call(SOCKET), call(SOCKET)])).toEqual([200, 200]);
  });

  test('read the catalog again on SIGHUP', async () => {
    // files of variables are not watched
    await rm(KEY_FILE);
    process.kill(service.apiPid, 'SIGHUP');
    const complained = async (slot: number) =>
      (await service.logs())
        .split('\n')
        .some((line) => line.includes(`"name":"api-${slot}"`) && line.includes('catalog not reloaded'));
    await eventually(
      async () => (await complained(1)) && (await complained(2)),
      30_000,
      'both processes to read it',
    );
    await writeFile(KEY_FILE, 'a key');
  });

  test('survive kill -9 of one under load, which is then restarted', async () => {
    const [before] = await pidsOf(2);
    let stopped = false;
    const statuses: (number | undefined)[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (!stopped) {
        statuses.push(await call().catch(() => undefined));
      }
    });
    await eventually(async () => statuses.length > 20);
    process.kill(before!, 'SIGKILL');
    await eventually(async () => (await pidsOf(2)).length === 2, 30_000, 'a new second process');
    const atReturn = statuses.length;
    await eventually(async () => statuses.length > atReturn + 20);
    stopped = true;
    await Promise.all(load);
    // the calls in progress at the killed process: one of each of four callers
    expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(4);
    const serving = async () => (await measured('tollgate_api_processes_serving'))[''] === 2;
    await eventually(serving, 30_000, 'two serving processes');
    expect(await measured('tollgate_api_process_crashes_total')).toEqual({ '': 1 });
    expect(await service.logs()).toContain('API process 2 was ended by SIGKILL; starting it again');
  });

  test('deliver and charge every running stream completely after SIGTERM', async () => {
    const streams = await startStreams(8);
    process.kill(service.apiPid, 'SIGTERM');
    expectWhole(await Promise.all(streams));
    expect(await service.apiEnd).toBe(0);
    // a worker releases the holds of the killed process
    await eventually(async () => (await openHolds()) === 0, 150_000, 'no open hold');
    await expect(stat(SOCKET)).rejects.toThrow(/ENOENT/);
  }, 180_000);
});

test('API processes finish their calls and exit when their parent is killed', async () => {
  service = await start();
  const streams = await startStreams(4);
  const pids = (await Promise.all([1, 2].map(pidsOf))).flat();
  process.kill(service.apiPid, 'SIGKILL');
  expectWhole(await Promise.all(streams));
  const areGone = async () => pids.length === 2 && pids.every((pid) => !isAlive(pid));
  await eventually(areGone, 30_000, 'the end of both');
  expect(await openHolds()).toBe(0);
  await service.stop();
}, 180_000);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
