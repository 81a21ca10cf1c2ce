import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { CatalogService } from '../../src/catalog/catalog.service.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import { ScriptedEngine } from '../factories/task-engine.ts';
import { customer, submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const CATALOG = parseCatalog(
  `
models:
  - id: image-turbo
    endpoints: [image]
    pricing: { image: "0.005" }
    routes:
      - { engine: gpu, model: near }
      - { engine: hosted, model: far, when: unavailable }
      - { engine: late, model: later, when: waiting > 60s }
engines: [{ id: gpu, kind: builtin }, { id: hosted, kind: builtin }, { id: late, kind: builtin }]`,
  'tollgate.yaml',
  {},
);
const SOLD = new CatalogService(() => CATALOG);
const CHARGE = '-5000000';

let it: TaskTest;

beforeAll(async () => {
  const folder = temporaryFolder('overflow');
  it = await TaskTest.open({
    redisDatabase: 13,
    catalog: SOLD,
    engine: new ScriptedEngine(join(folder, 'gpu'), { paid: true }),
    moreEngines: ['hosted', 'late'].map((id) => new ScriptedEngine(join(folder, id), { id })),
  });
});
afterAll(() => it?.close());
beforeEach(async () => {
  await it.pool.query('DELETE FROM worker_slots');
});

const live = (pools: Readonly<Record<string, number>>) =>
  it.stack.dispatch.registerSlots(
    'far.1',
    new Map(Object.entries(pools).map(([pool, slots]) => [`generate-${pool}`, slots])),
  );

async function order(count: number, who = it.who): Promise<string[]> {
  const ids = [];
  for (let index = 0; index < count; index += 1) {
    ids.push(
      await submitImage(it.stack, who, '', { model: SOLD.orderable('image-turbo', 'image', who.principal) }),
    );
  }
  return ids;
}

/** Returns the pool of each task and the name of its model there. */
async function places(ids: readonly string[]): Promise<string[]> {
  const { rows } = await it.pool.query<{ place: string }>(
    "SELECT pool || ' ' || (parameters->>'upstream_model') AS place FROM tasks WHERE id = ANY ($1::uuid[]) ORDER BY id",
    [ids],
  );
  return rows.map(({ place }) => place);
}

const move = () => it.stack.services.overflow.move();

describe('waiting tasks', () => {
  test('stay where a live worker serves them, and where no other pool could', async () => {
    const ids = await order(2);
    expect(await move()).toBe(0);
    await live({ gpu: 1, hosted: 1, late: 1 });
    expect(await move()).toBe(0);
    expect(await places(ids)).toEqual(['gpu near', 'gpu near']);
  });

  test('move on when no worker serves them, as many as can be served soon, in turns by account', async () => {
    const other = await customer(it.database.database);
    const mine = await order(6);
    const theirs = await order(1, other);
    await live({ hosted: 2 });
    expect(await move()).toBe(4);
    expect(await places(theirs)).toEqual(['hosted far']);
    expect(await it.events(theirs[0]!)).toEqual(['queued', 'queued moved_to_hosted']);
    expect(await move()).toBe(0);
    // a job that still names the old pool finds nothing there
    expect(await it.stack.claims.claim(theirs[0]!, 'generating', 'near.1', 1_000, 'gpu')).toBeUndefined();
    expect(await it.stack.claims.claim(theirs[0]!, 'generating', 'far.1', 1, 'hosted')).toBeDefined();
    expect((await places(mine)).filter((place) => place === 'gpu near').length).toBeGreaterThan(2);
  });

  test('return from an engine that goes away, too', async () => {
    await live({ gpu: 1_000 });
    await move();
    const { rows } = await it.pool.query("SELECT 1 FROM tasks WHERE state = 'queued' AND pool <> 'gpu'");
    expect(rows).toEqual([]);
  });

  test('move on after their time, even when their engine is alive, except those with a billed run', async () => {
    const [old, begun, young] = await order(3);
    await it.pool.query("UPDATE tasks SET created_at = now() - interval '61 s' WHERE id = ANY ($1::uuid[])", [
      [old, begun],
    ]);
    await it.pool.query('UPDATE tasks SET engine_submitted_at = now() WHERE id = $1', [begun]);
    await live({ gpu: 1, hosted: 1, late: 50 });
    expect(await move()).toBe(1);
    expect(await places([old!])).toEqual(['late later']);
    expect(await places([begun!, young!])).toEqual(['gpu near', 'gpu near']);
    // a run that costs nothing is left behind with the host that had it
    await it.pool.query(
      "UPDATE tasks SET engine_submitted_at = now(), engine_reference = 'r' WHERE id = $1",
      [old],
    );
    await live({ gpu: 1_000 });
    expect(await move()).toBe(1);
    const { rows } = await it.pool.query(
      'SELECT pool, engine_reference, engine_submitted_at FROM tasks WHERE id = $1',
      [old],
    );
    expect(rows).toEqual([{ pool: 'gpu', engine_reference: null, engine_submitted_at: null }]);
  });
});

test('serves an order by the next route while the first is away, at the price of the order', async () => {
  await it.pool.query("UPDATE tasks SET deadline_at = now() WHERE state = 'queued'");
  await it.stack.services.sweeps.sweep();
  it.stack.start('generate:hosted,postprocess,webhooks,maintenance');
  const [id] = await order(1);
  const { task } = await it.ended(id!);
  expect(task).toMatchObject({ state: 'succeeded', pool: 'hosted' });
  expect(await it.charges(id!)).toEqual([CHARGE]);
  const { rows } = await it.pool.query<{ provider: string; model: string }>(
    `SELECT a->>'provider' AS provider, a->>'model' AS model
       FROM generations g, jsonb_array_elements(g.attempts) a WHERE g.id = $1`,
    [id],
  );
  expect(rows).toEqual([{ provider: 'hosted', model: 'far' }]);
});
