import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Engine, EngineContext, EngineRequest, EngineStatus } from '../../src/engines/engine.types.ts';
import { buildEngines, type EngineKind, type EngineSettings } from '../../src/engines/registry.ts';
import {
  type EngineSupervision,
  type SupervisionOptions,
  superviseEngines,
} from '../../src/engines/supervision/supervise-engines.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { compiled } from '../setup/compiled.ts';

const SERVER = fileURLToPath(new URL('fake-engine-server.mjs', import.meta.url));
const CLOCKS = {
  startingCheckMs: 20,
  workingCheckMs: 20,
  backoffFirstMs: 100,
  backoffMaxMs: 400,
  provenMs: 60_000,
};

interface Entry {
  readonly event: string;
  readonly pid: number;
  readonly port: number;
  readonly gpu?: string;
  readonly order?: string;
  readonly variables?: string[];
  readonly argv?: string[];
  readonly own?: string;
  readonly at?: number;
  readonly grandchild?: number;
}

let folder: string;
let journal: string;
const running: EngineSupervision[] = [];

beforeEach(async () => {
  folder = temporaryFolder('supervision');
  journal = join(folder, 'journal');
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((supervision) => supervision.close()));
  for (const { pid, grandchild } of events('start')) {
    expect(isRunning(pid)).toBe(false);
    expect(grandchild === undefined || !isRunning(grandchild)).toBe(true);
  }
});

function entry(mode = '', changes: object = {}, members: object = {}): EngineSettings {
  return {
    id: 'local-sd',
    kind: 'fake',
    slots: 'auto',
    process: {
      command: [process.execPath, SERVER, '{port}', 'gpu={gpu}'],
      env: { FAKE_JOURNAL: journal, FAKE_MODE: mode, FAKE_OWN: 'own', ...(changes as { env?: object }).env },
      health: '/health',
      stop_timeout: 1,
      ...Object.fromEntries(Object.entries(changes).filter(([name]) => name !== 'env')),
    },
    ...members,
  };
}

async function start(
  entries: EngineSettings[],
  options: Partial<SupervisionOptions> = {},
): Promise<EngineSupervision> {
  const supervision = await superviseEngines(entries, {
    gpus: [{ index: 0 }, { index: 1 }],
    serves: () => true,
    dataFolder: folder,
    variables: {
      PATH: process.env.PATH,
      HOME: '/home/x',
      DATABASE_URL: 'secret',
      TOLLGATE_SECRET: 'secret',
      HF_HOME: '/models',
    },
    log: createLogger({ name: 'test', level: 'silent' }),
    clocks: CLOCKS,
    ...options,
  });
  running.push(supervision);
  return supervision;
}

async function ready(supervision: EngineSupervision, servers: number): Promise<void> {
  await eventually(
    async () => supervision.status('local-sd').ready === servers,
    30_000,
    `${servers} ready servers`,
  );
}

function events(event?: string): Entry[] {
  const text = existsSync(journal) ? readFileSync(journal, 'utf8') : '';
  const entries = text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Entry);
  return event === undefined ? entries : entries.filter((found) => found.event === event);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

describe('the processes', () => {
  test('are one per GPU, each with its GPU, its port and no secrets', async () => {
    const supervision = await start([entry('slow')]);
    await ready(supervision, 2);
    const started = events('start').sort((one, other) => Number(one.gpu) - Number(other.gpu));
    expect(started.map(({ gpu, order, own }) => [gpu, order, own])).toEqual([
      ['0', 'PCI_BUS_ID', 'own'],
      ['1', 'PCI_BUS_ID', 'own'],
    ]);
    expect(new Set(started.map(({ port }) => port)).size).toBe(2);
    for (const { argv, port, gpu, variables } of started) {
      expect(argv).toEqual([String(port), `gpu=${gpu}`]);
      expect(variables).toEqual(
        expect.arrayContaining([
          'PATH',
          'HOME',
          'HF_HOME',
          'PORT',
          'FAKE_OWN',
          'CUDA_VISIBLE_DEVICES',
          'HIP_VISIBLE_DEVICES',
        ]),
      );
      expect(variables).not.toContain('DATABASE_URL');
      expect(variables).not.toContain('TOLLGATE_SECRET');
    }
    const log = join(folder, 'logs', 'engine-local-sd-gpu1.log');
    await eventually(async () => (await readFile(log, 'utf8').catch(() => '')).includes('listening'));
  });

  test('are a single one without CUDA_VISIBLE_DEVICES on a host without GPUs', async () => {
    const supervision = await start([entry()], { gpus: [] });
    await ready(supervision, 1);
    expect(events('start')).toHaveLength(1);
    expect(events('start')[0]?.variables).not.toContain('CUDA_VISIBLE_DEVICES');
    expect(events('start')[0]?.argv?.[1]).toBe('gpu=');
  });

  test('run on the named GPUs, and only for pools that are served here', async () => {
    const other = { ...entry(), id: 'other' };
    const supervision = await start([entry('', { gpus: [1] }), other], {
      serves: (pool) => pool === 'local-sd',
    });
    await ready(supervision, 1);
    expect(events('start').map(({ gpu }) => gpu)).toEqual(['1']);
    expect(supervision.status('other')).toEqual({ servers: 0, ready: 0 });
  });

  test('restart after a crash, on the same port', async () => {
    const supervision = await start([entry()], { gpus: [] });
    await ready(supervision, 1);
    const [first] = events('start');
    process.kill(first!.pid, 'SIGKILL');
    await eventually(async () => events('start').length === 2);
    await ready(supervision, 1);
    const [, second] = events('start');
    expect(second!.port).toBe(first!.port);
    expect(second!.pid).not.toBe(first!.pid);
  });

  test('restart with growing pauses when they crash at once, and say why in the log', async () => {
    await start([entry('crash')], { gpus: [] });
    await eventually(async () => events('start').length >= 4);
    const at = events('start').map((found) => found.at ?? 0);
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(100);
    expect(at[2]! - at[1]!).toBeGreaterThanOrEqual(200);
    expect(at[3]! - at[2]!).toBeGreaterThanOrEqual(400);
    expect(await readFile(join(folder, 'logs', 'engine-local-sd.log'), 'utf8')).toContain('no model file');
  });

  test('are ended after the start timeout when they never become healthy', async () => {
    const supervision = await start([entry('never', { start_timeout: 1 })], { gpus: [] });
    await eventually(async () => events('start').length >= 2, 10_000);
    expect(events('start')[1]!.at! - events('start')[0]!.at!).toBeGreaterThanOrEqual(1_000);
    expect(supervision.status('local-sd').ready).toBe(0);
  });

  test('restart when they stop answering', async () => {
    const trigger = join(folder, 'deaf');
    const settings = { unhealthy_after: 1, env: { FAKE_TRIGGER: trigger } };
    const supervision = await start([entry('', settings)], { gpus: [] });
    await ready(supervision, 1);
    await writeFile(trigger, '');
    await eventually(async () => events('start').length === 2);
    await rm(trigger);
    await ready(supervision, 1);
    expect(events('sigterm')).toHaveLength(1);
  });

  test('do not stop the worker when they cannot be run', async () => {
    const supervision = await start([entry('', { command: ['/nowhere/sd-server'] })], { gpus: [] });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(supervision.status('local-sd')).toEqual({ servers: 1, ready: 0 });
  });

  test('get SIGTERM, and SIGKILL when that does not help, together with their own child processes', async () => {
    const supervision = await start([entry('stubborn'), { ...entry('grandchild'), id: 'second' }], {
      gpus: [],
    });
    await eventually(
      async () => supervision.status('second').ready === 1 && supervision.status('local-sd').ready === 1,
    );
    const began = Date.now();
    await supervision.close();
    expect(events('sigterm')).toHaveLength(2);
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
    for (const { pid, grandchild } of events('start')) {
      expect(isRunning(pid)).toBe(false);
      await eventually(async () => grandchild === undefined || !isRunning(grandchild));
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(events('start')).toHaveLength(2);
  });
});

describe('a worker that dies', () => {
  const workers: ChildProcess[] = [];

  afterEach(() => {
    for (const worker of workers.splice(0)) {
      worker.kill('SIGKILL');
    }
  });

  async function spawnWorker(): Promise<ChildProcess> {
    const settings = JSON.stringify(entry('', {}, { slots: 1 }));
    const worker = spawn(
      process.execPath,
      [await compiled('test/engines/supervising-worker.ts'), folder, settings],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { PATH: process.env.PATH },
      },
    );
    workers.push(worker);
    return worker;
  }

  test('by kill -9 leaves an engine that the next worker ends; a living worker keeps its own', async () => {
    const worker = await spawnWorker();
    await eventually(async () => events('start').length === 1, 20_000);
    await eventually(async () => existsSync(join(folder, 'engines', 'local-sd.json')));
    await expect(start([entry()], { gpus: [] })).rejects.toThrow(
      `engines.local-sd.process: worker ${worker.pid} of this host already runs it`,
    );
    worker.kill('SIGKILL');
    await new Promise((resolve) => worker.once('exit', resolve));
    const [orphan] = events('start');
    expect(isRunning(orphan!.pid)).toBe(true);
    const supervision = await start([entry()], { gpus: [] });
    expect(isRunning(orphan!.pid)).toBe(false);
    await ready(supervision, 1);
  });

  test('by its own exit takes the engine with it', async () => {
    const worker = await spawnWorker();
    await eventually(async () => events('start').length === 1, 20_000);
    worker.kill('SIGUSR2');
    await new Promise((resolve) => worker.once('exit', resolve));
    await eventually(async () => !isRunning(events('start')[0]!.pid));
  });
});

test('keeps a log within twice its cap', async () => {
  const { cappedLog } = await import('../../src/engines/supervision/capped-log.ts');
  const path = join(folder, 'deep', 'engine.log');
  const log = cappedLog(path, 100_000);
  for (let line = 0; line < 400; line += 1) {
    log.write(`${String(line).padStart(999, 'x')}\n`);
  }
  await new Promise<void>((resolve) => log.end(resolve));
  expect((await stat(path)).size).toBeLessThanOrEqual(100_000);
  expect((await stat(`${path}.1`)).size).toBeLessThanOrEqual(100_000);
  expect(await readFile(path, 'utf8')).toMatch(/x399\n$/);
});

describe('an invalid setting is reported in one line', () => {
  test.each([
    [{ command: [] }, 'engines.local-sd.process.command: '],
    [{ command: ['x'], health: 'health' }, 'engines.local-sd.process.health: must be a path'],
    [{ start_timeout: 0 }, 'engines.local-sd.process.start_timeout: '],
    [{ gpus: [7] }, 'engines.local-sd.process.gpus: this host has no GPU 7'],
    [{ shell: true }, 'engines.local-sd.process: '],
  ])('%p', async (changes, message) => {
    await expect(start([entry('', changes)])).rejects.toThrow(message);
    expect(events()).toEqual([]);
  });

  test('rejects a base_url next to a process', async () => {
    await expect(start([entry('', {}, { base_url: 'http://x' })])).rejects.toThrow(
      'engines.local-sd.base_url: conflicts with process',
    );
  });
});

describe('a server with a warm-up', () => {
  test('takes work only once the warm-up was answered', async () => {
    const starts: string[] = [];
    const onStart = (pool: string): void => void starts.push(pool);
    const supervision = await start([entry('', { warmup: { path: '/warm', body: { steps: 1 } } })], {
      gpus: [],
      onStart,
    });
    let isEarly = false;
    // the first answer to the warm-up is an error
    await eventually(async () => {
      const isReady = supervision.status('local-sd').ready === 1;
      isEarly ||= isReady && events('warmed').length < 2;
      return isReady;
    });
    expect(isEarly).toBe(false);
    const asked = events('warmed').length;
    process.kill(events('start')[0]!.pid, 'SIGKILL');
    await eventually(async () => events('start').length === 2);
    await ready(supervision, 1);
    expect(events('warmed').length).toBeGreaterThan(asked);
    expect(starts).toEqual(['local-sd', 'local-sd']);
    expect(supervision.pools).toEqual(['local-sd']);
  });
});

describe('changed settings', () => {
  const pids = () => events('start').map(({ pid }) => pid);

  test('restart only the servers they affect', async () => {
    const supervision = await start([entry(), entry('', {}, { id: 'other' })], { gpus: [] });
    await ready(supervision, 1);
    await eventually(async () => supervision.status('other').ready === 1);
    const before = pids();
    await supervision.renew([
      entry('', {}, { slots: 4 }),
      entry('', { env: { FAKE_OWN: 'changed' } }, { id: 'other' }),
    ]);
    await eventually(async () => supervision.status('other').ready === 1);
    expect(supervision.status('local-sd')).toEqual({ servers: 1, ready: 1 });
    expect(pids()).toHaveLength(before.length + 1);
    expect(events('start').at(-1)).toMatchObject({ own: 'changed' });
    await supervision.renew([]);
    expect([...before, ...pids()].filter(isRunning)).toEqual([]);
    expect(supervision.status('local-sd')).toEqual({ servers: 0, ready: 0 });
  });

  test('change nothing when they are invalid', async () => {
    const supervision = await start([entry()], { gpus: [] });
    await ready(supervision, 1);
    const wrong = [entry('', { gpus: [7] })];
    const mistake = 'engines.local-sd.process.gpus: this host has no GPU 7';
    expect(supervision.mistake(wrong)).toBe(mistake);
    await expect(supervision.renew(wrong)).rejects.toThrow(mistake);
    expect(supervision.mistake([entry()])).toBeUndefined();
    expect(supervision.status('local-sd')).toEqual({ servers: 1, ready: 1 });
    expect(pids()).toHaveLength(1);
  });
});

describe('the engine of a pool', () => {
  const request = { taskId: 't', attempt: 1 } as EngineRequest;
  const context = (signal = new AbortController().signal) =>
    ({ signal, folder: '', onProgress: () => undefined }) as EngineContext;

  const fakeKind: EngineKind = {
    slotsDefault: 1,
    create: (settings) => {
      if (settings.process !== undefined) {
        throw new Error('an adapter must not get the member process');
      }
      return new FakeEngine(settings.id, String(settings.base_url));
    },
  };

  async function build(supervision: EngineSupervision, settings = entry()) {
    return buildEngines(
      supervision.resolve([settings]),
      supervision.extend(new Map([['fake', fakeKind]])),
      2,
    );
  }

  test('has a slot per server and spreads runs over the servers', async () => {
    const supervision = await start([entry()]);
    const registry = await build(supervision);
    expect(registry.slots('local-sd')).toBe(2);
    await ready(supervision, 2);
    const engine = registry.find('local-sd')!;
    const references = [await engine.submit(request, context()), await engine.submit(request, context())];
    const gpus = await Promise.all(references.map((reference) => gpuOf(engine, reference)));
    expect([...gpus].sort()).toEqual(['0', '1']);
    for (const turn of [0, 1]) {
      await engine.cancel(references[turn]!, request);
      references[turn] = await engine.submit(request, context());
      expect(await gpuOf(engine, references[turn]!)).toBe(gpus[turn]);
    }
    const third = await engine.submit(request, context());
    expect((await engine.poll(third, request, context())).state).toBe('running');
    await registry.close();
  });

  test('is away while none of its servers is ready, and works as soon as one is', async () => {
    const supervision = await start([entry('slow')], { gpus: [] });
    const registry = await build(supervision, entry('slow'));
    const engine = registry.find('local-sd')!;
    expect(await engine.isReady?.(context().signal)).toBe(false);
    await expect(engine.submit(request, context())).rejects.toMatchObject({
      failure: { code: 'engine_not_running', retryable: true },
    });
    await eventually(async () => await engine.isReady?.(context().signal));
    const reference = await engine.submit(request, context());
    expect(await gpuOf(engine, reference)).toBe('undefined');
    await registry.close();
  });

  test('reports a run as lost as soon as its server has ended, and accepts the next one', async () => {
    const supervision = await start([entry()], { gpus: [] });
    const engine = (await build(supervision)).find('local-sd')!;
    await ready(supervision, 1);
    const reference = await engine.submit(request, context());
    expect((await engine.poll(reference, request, context())).state).toBe('running');
    process.kill(events('start')[0]!.pid, 'SIGKILL');
    const lost = await eventually(async () => {
      const status = await engine.poll(reference, request, context()).catch(() => undefined);
      return status?.state === 'failed' ? status : undefined;
    });
    expect(lost.failure).toMatchObject({ code: 'run_lost', retryable: true });
    await expect(engine.collect(reference, request, context())).rejects.toMatchObject({
      failure: { code: 'run_lost' },
    });
    expect(await engine.cancel(reference, request)).toBe('stopped');
    await ready(supervision, 1);
    const next = await engine.submit(request, context());
    expect((await engine.poll(next, request, context())).state).toBe('running');
    expect((await engine.poll(reference, request, context())).failure?.code).toBe('run_lost');
  });

  test('does not know references of another worker', async () => {
    const supervision = await start([entry()], { gpus: [] });
    const [one, two] = [
      (await build(supervision)).find('local-sd')!,
      (await build(supervision)).find('local-sd')!,
    ];
    await ready(supervision, 1);
    const reference = await one.submit(request, context());
    expect((await two.poll(reference, request, context())).failure?.code).toBe('run_lost');
    expect(await two.cancel(reference, request)).toBe('unsupported');
    expect(await one.recover(request, context())).toBeNull();
  });

  test('only reports its capabilities where its pool is not served', async () => {
    const supervision = await start([entry()], { serves: () => false });
    const registry = await build(supervision);
    expect(registry.find('local-sd')?.capabilities.cancelRunning).toBe(true);
    expect(registry.find('local-sd')).toMatchObject({ baseUrl: 'http://127.0.0.1:9' });
    expect(events()).toEqual([]);
  });
});

async function gpuOf(engine: Engine, reference: string): Promise<string> {
  const status = await engine.poll(reference, {} as EngineRequest, {} as EngineContext);
  return (status as EngineStatus & { gpu: string }).gpu;
}

/** An adapter that asks its server which GPU it has. */
class FakeEngine implements Engine {
  readonly id: string;
  readonly kind = 'fake';
  readonly baseUrl: string;
  readonly pollIntervalMs = 10;
  readonly capabilities = {
    kinds: ['image'] as const,
    sizeMultiple: 8,
    cancelQueued: true,
    cancelRunning: true,
    paid: false,
  };
  #runs = 0;

  constructor(id: string, baseUrl: string) {
    this.id = id;
    this.baseUrl = baseUrl;
  }

  async submit(): Promise<string> {
    await (await fetch(this.baseUrl)).json();
    this.#runs += 1;
    return `run~${this.#runs}`;
  }

  async recover(): Promise<null> {
    return null;
  }

  async poll(reference: string): Promise<EngineStatus> {
    expect(reference).toMatch(/^run~\d+$/);
    const { gpu } = (await (await fetch(this.baseUrl)).json()) as { gpu?: string };
    return { state: 'running', gpu: String(gpu) } as EngineStatus;
  }

  async collect(): Promise<[]> {
    return [];
  }

  async cancel(): Promise<'stopped'> {
    return 'stopped';
  }

  async close(): Promise<void> {}
}
