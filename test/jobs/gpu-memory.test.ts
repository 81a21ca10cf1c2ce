import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CatalogService } from '../../src/catalog/catalog.service.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import type { EngineContext, EngineOutput, EngineRequest } from '../../src/engines/engine.types.ts';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { ScriptedEngine } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const CATALOG = parseCatalog(
  `
models:
  - { id: image-turbo, endpoints: [image], pricing: { image: "0.005" }, routes: [{ engine: one, model: a }] }
  - { id: image-other, endpoints: [image], pricing: { image: "0.005" }, routes: [{ engine: two, model: b }] }
engines: [{ id: one, kind: builtin }, { id: two, kind: builtin }]`,
  'tollgate.yaml',
  {},
);
const SOLD = new CatalogService(() => CATALOG);

/** The engines with something in the memory of the one GPU, by number of running tasks. Each needs most of the memory. */
const working = new Map<string, number>();
const together: string[][] = [];
const freed: string[] = [];

/** Fills the memory from its first run until it is asked to free it. */
class HeavyEngine extends ScriptedEngine {
  override async submit(request: EngineRequest): Promise<string> {
    working.set(this.id, (working.get(this.id) ?? 0) + 1);
    together.push([...working.keys()]);
    return await super.submit(request);
  }

  override async collect(
    reference: string,
    request: EngineRequest,
    context: EngineContext,
  ): Promise<EngineOutput[]> {
    working.set(this.id, (working.get(this.id) ?? 0) - 1);
    return await super.collect(reference, request, context);
  }

  async freeMemory(): Promise<void> {
    freed.push(this.id);
    expect(working.get(this.id) ?? 0).toBe(0);
    working.delete(this.id);
  }
}

let it: TaskTest;

beforeAll(async () => {
  const folder = temporaryFolder('gpu-memory');
  const [one, two] = ['one', 'two'].map((id) => new HeavyEngine(join(folder, id), { id }));
  it = await TaskTest.open({
    catalog: SOLD,
    engine: one!,
    moreEngines: [two!],
    slots: 2,
    gpuShares: ['one', 'two'].map((pool) => ({ pool, gpu: 0, mib: 20_000, keeps: false })),
  });
});
afterAll(() => it?.close());

const order = (id: string) =>
  submitImage(it.stack, it.who, 'run=20', { model: SOLD.orderable(id, 'image', it.who.principal) });

test('leaves a run without room to other hosts, without a failure, and makes it once there is room', async () => {
  const leave = await it.stack.rooms.take('one', new AbortController().signal);
  const id = await order('image-other');
  const { signal } = new AbortController();
  expect(await it.stack.services.generate.run(id, signal)).toEqual({ result: 'returned' });
  expect(await it.events(id)).toEqual(['queued', 'queued no_gpu_memory']);
  expect(await it.stack.reads.findTask(id, EVERY_TASK)).toMatchObject({ failures: 0, generationRuns: 0 });
  leave();
  await it.pool.query('UPDATE tasks SET not_before = clock_timestamp() WHERE id = $1', [id]);
  expect(await it.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
});

test('never has two pools of one GPU in its memory at the same time, and makes all their tasks', async () => {
  const ids: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    ids.push(await order('image-turbo'), await order('image-other'));
  }
  it.stack.start();
  const ended = await Promise.all(ids.map((id) => it.ended(id)));
  expect(ended.map(({ task }) => task.state)).toEqual(ids.map(() => 'succeeded'));
  expect(together.filter((pools) => pools.length > 1)).toEqual([]);
  expect(together).toHaveLength(9);
  expect(new Set(freed).size).toBeGreaterThanOrEqual(1);
});
