import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { CatalogService } from '../../src/catalog/catalog.service.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import type { EngineRequest } from '../../src/engines/engine.types.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { oneCell } from '../../src/store/cells.ts';
import { ModelAffinityClaims } from '../../src/tasks/model-affinity-claims.ts';
import { TaskAffinityStore } from '../../src/tasks/task-affinity.store.ts';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { ScriptedEngine } from '../factories/task-engine.ts';
import { customer, imageOrder, type TestCustomer } from '../factories/task-order.ts';
import { createTaskStack, type TaskStack } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';

const MODELS = ['a', 'b', 'c'] as const;
const catalog = parseCatalog(
  JSON.stringify({
    engines: [{ id: 'gpu', kind: 'builtin' }],
    models: MODELS.map((model) => ({
      id: `acme/${model}`,
      endpoints: ['image'],
      media: { sizes: ['512*512'] },
      pricing: { image: '0.005' },
      routes: [{ engine: 'gpu', model }],
    })),
  }),
  'tollgate.yaml',
  {},
);
const CATALOG = new CatalogService(() => catalog);
const NO_PREFERENCE = { began: () => undefined, of: () => undefined };

/** An engine with memory for one model. */
class OneModelEngine extends ScriptedEngine {
  /** The models of its runs, in order. */
  readonly ran: string[] = [];

  get loads(): number {
    return this.ran.filter((model, index) => model !== this.ran[index - 1]).length;
  }

  override async submit(request: EngineRequest): Promise<string> {
    this.ran.push(request.model);
    return await super.submit(request);
  }
}

let it: TaskTest;

beforeAll(async () => {
  it = await TaskTest.open({ catalog: CATALOG, redisDatabase: 11, credits: '50.00' });
});

beforeEach(async () => {
  await it.pool.query("UPDATE tasks SET not_before = 'infinity' WHERE completed_at IS NULL");
});

afterAll(() => it?.close());

async function order(model: string, who: TestCustomer = it.who, prompt = ''): Promise<string> {
  const orderable = CATALOG.orderable(`acme/${model}`, 'image', { allowedModels: null });
  const context = {
    principal: who.principal,
    requestId: 'req_test',
    signal: new AbortController().signal,
    headers: {},
  };
  return await it.stack.submits.submit(
    imageOrder(prompt, { endpoint: `/v3/async/acme/${model}`, model: orderable }),
    { ...context, generationId: newUuid() },
  );
}

/** Submits the orders one after the other, so that their ids are in this order. */
async function orderAll(models: readonly string[], who?: TestCustomer, prompt?: string): Promise<string[]> {
  const ids: string[] = [];
  for (const model of models) {
    ids.push(await order(model, who, prompt));
  }
  return ids;
}

/** Dispatches tasks like the relay. */
async function dispatch(limit = 100): Promise<string[]> {
  return (await it.stack.dispatch.queued('gpu').take(limit, 60_000)).map(({ id }) => id);
}

function claimsWith(patienceMs: number): ModelAffinityClaims {
  const affinity = new TaskAffinityStore(oneCell(it.database.database));
  return new ModelAffinityClaims(it.stack.claims, affinity, patienceMs);
}

/** Returns the model a worker with these loaded models gets in the turn of a task. */
async function claimed(claims: ModelAffinityClaims, taskId: string, loaded: readonly string[]) {
  const task = await claims.claim({ taskId, worker: 'host.1', leaseMs: 60_000, pool: 'gpu', loaded });
  return task?.model.replace('acme/', '');
}

test('gives a worker the model it has loaded in any task’s turn, and the task of the turn when none has that model', async () => {
  const [a1, b1, a2, b2] = (await orderAll(['a', 'b', 'a', 'b'])) as [string, string, string, string];
  await dispatch();
  const claims = claimsWith(60_000);
  expect(await claimed(claims, a1, ['b'])).toBe('b');
  expect(await claimed(claims, b1, ['b'])).toBe('b');
  // the turns of tasks that went first belong to those passed over
  expect(await claimed(claims, a2, ['b'])).toBe('a');
  expect(await claimed(claims, b2, ['b'])).toBe('a');
  expect(await claimed(claims, b2, ['b'])).toBeUndefined();
});

test('lets only tasks go first whose turn has come', async () => {
  const [a1, b1] = (await orderAll(['a', 'b'])) as [string, string];
  expect(await dispatch(1)).toEqual([a1]);
  expect(await claimed(claimsWith(60_000), a1, ['b'])).toBe('a');
  expect(await dispatch()).toEqual([b1]);
});

test('gives the next turn to a task that was passed over once its patience has ended, longest first', async () => {
  const [c1, c2, ...others] = await orderAll(['c', 'c', 'a', 'a', 'a', 'a']);
  await dispatch();
  const claims = claimsWith(150);
  expect(await claimed(claims, c1!, ['a'])).toBe('a');
  expect(await claimed(claims, c2!, ['a'])).toBe('a');
  await it.pool.query("UPDATE tasks SET passed_over_at = passed_over_at - interval '1 s' WHERE id = $1", [
    c2,
  ]);
  expect(await claimed(claims, others[2]!, ['a'])).toBe('c');
  expect((await it.stack.reads.findTask(c2!, EVERY_TASK))?.state).toBe('generating');
  expect(await claimed(claims, others[3]!, ['a'])).toBe('a');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await claimed(claims, others[0]!, ['a'])).toBe('c');
  expect(await claimed(claims, others[1]!, ['a'])).toBe('a');
});

test('gives each worker that claims at once a task of its own', async () => {
  const ids = await orderAll(Array.from({ length: 24 }, (_, index) => MODELS[index % 3]!));
  await dispatch();
  const claims = claimsWith(60_000);
  const found = await Promise.all(
    ids.map((taskId, index) =>
      claims.claim({
        taskId,
        worker: `host.${index}`,
        leaseMs: 60_000,
        pool: 'gpu',
        loaded: [MODELS[index % 2]!],
      }),
    ),
  );
  const got = found.flatMap((task) => (task ? [task.id] : []));
  expect(new Set(got).size).toBe(got.length);
  expect(got.length).toBeGreaterThan(20);
  // the relay gives an unused turn out again
  await it.pool.query("UPDATE tasks SET dispatched_at = NULL WHERE state = 'queued'");
  expect(got.length + (await dispatch()).length).toBe(24);
});

test('gives a worker without a preference the turn of a task that ran in another’s turn', async () => {
  const [a1, b1] = (await orderAll(['a', 'b'])) as [string, string];
  await dispatch();
  const claims = claimsWith(60_000);
  expect(await claimed(claims, a1, ['b'])).toBe('b');
  expect(await claimed(claims, b1, [])).toBe('a');
  expect(await claimed(claims, b1, [])).toBeUndefined();
});

async function twoHosts(prefix: string, options: Partial<Parameters<typeof createTaskStack>[0]>) {
  const hosts: { engine: OneModelEngine; stack: TaskStack }[] = [];
  for (const worker of ['host-1', 'host-2']) {
    const engine = new OneModelEngine(`${it.journal}-${prefix}-${worker}`);
    const stack = await createTaskStack({
      database: it.database.database,
      databaseUrl: it.database.url,
      redisUrl: it.redisUrl,
      folder: it.folder,
      ...{ engine, prefix, worker: `${worker}.1`, catalog: CATALOG, slots: 1 },
      ...options,
    });
    hosts.push({ engine, stack });
  }
  return hosts;
}

/** Runs orders of two models, mixed at random, on two hosts. Returns how often a model was loaded. */
async function loadsOf(prefix: string, orders: readonly string[], options: Parameters<typeof twoHosts>[1]) {
  const others = await customer(it.database.database, '50.00');
  const half = orders.length / 2;
  const ids = [
    ...(await orderAll(orders.slice(0, half), it.who, 'run=30')),
    ...(await orderAll(orders.slice(half), others, 'run=30')),
  ];
  const hosts = await twoHosts(prefix, options);
  try {
    hosts[0]?.stack.start();
    hosts[1]?.stack.start('generate,postprocess');
    for (const id of ids) {
      expect((await it.ended(id, 60_000)).task).toMatchObject({ state: 'succeeded' });
      expect(await it.charges(id)).toHaveLength(1);
    }
  } finally {
    await Promise.all(hosts.map(({ stack }) => stack.close()));
  }
  const ran = hosts.flatMap(({ engine }) => engine.ran);
  expect(ran).toHaveLength(orders.length);
  return hosts.reduce((loads, { engine }) => loads + engine.loads, 0);
}

/** Returns the models of that many orders, mixed at random but the same in every run. */
function mixedModels(count: number): string[] {
  let seed = 7;
  return Array.from({ length: count }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % 1_000 < 500 ? 'a' : 'b';
  });
}

/** Plays two hosts that claim alternately among four tasks whose turn has come. Returns how often a model was loaded. */
async function loadsInTurn(models: readonly string[], prefers: boolean): Promise<number> {
  // its own customer: these tasks never end and would count as running ones of a shared customer
  await orderAll(models, await customer(it.database.database, '50.00'));
  const claims = claimsWith(60_000);
  const loaded: string[][] = [[], []];
  const turns = await dispatch(4);
  let loads = 0;
  for (let turn = 0; turn < models.length; turn += 1) {
    const host = turn % 2;
    const model = await claimed(claims, turns.shift()!, prefers ? loaded[host]! : []);
    loads += model === loaded[host]![0] ? 0 : 1;
    loaded[host] = [model!];
    turns.push(...(await dispatch(1)));
  }
  return loads;
}

test('saves a third of the model loads with four tasks to choose from', async () => {
  const models = mixedModels(80);
  const byTurns = await loadsInTurn(models, false);
  expect(await loadsInTurn(models, true)).toBeLessThan(byTurns * 0.67);
});

test('loads models less often than by turns alone on two hosts with two models, and runs every task once', async () => {
  const orders = mixedModels(80);
  const byTurns = await loadsOf('affinity-off', orders, { loaded: NO_PREFERENCE });
  // how much less depends on how far the relay is ahead of the hosts
  expect(await loadsOf('affinity-on', orders, {})).toBeLessThan(byTurns);
});

test('gives a model that no host has loaded its turn after its patience, while others keep coming', async () => {
  const patienceMs = 400;
  const many = await orderAll(
    Array.from({ length: 60 }, (_, index) => (index % 2 ? 'a' : 'b')),
    it.who,
    'run=50',
  );
  const rare = await customer(it.database.database, '50.00');
  const hosts = await twoHosts('affinity-rare', { patienceMs });
  hosts[0]?.stack.start();
  hosts[1]?.stack.start('generate,postprocess');
  await it.ended(many[10]!);
  const [only] = await orderAll(['c'], rare, 'run=50');
  await it.ended(only!);
  const open = await it.pool.query("SELECT FROM tasks WHERE state = 'queued' AND id = ANY ($1::uuid[])", [
    many,
  ]);
  await Promise.all(hosts.map(({ stack }) => stack.close()));
  // others still waited when it was done, so it was not simply the last
  expect(open.rowCount).toBeGreaterThan(0);
});
