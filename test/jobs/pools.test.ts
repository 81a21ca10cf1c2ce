import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Producer } from '../../queues/producer.ts';
import { queueName } from '../../queues/queue-name.ts';
import { openAiKind } from '../../src/engines/openai/openai-engine.ts';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { OpenAiImageServer } from '../factories/engine-openai.ts';
import { eventually } from '../factories/eventually.ts';
import { customer, submitImage, type TestCustomer } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

const busy = new OpenAiImageServer();
const idle = new OpenAiImageServer();
let it: TaskTest;
let redis: Redis;

beforeAll(async () => {
  const settings = { kind: 'openai', kinds: ['image'], paid: true };
  await Promise.all([busy.start(), idle.start()]);
  it = await TaskTest.open({
    redisDatabase: 10,
    slots: 1,
    engine: openAiKind.create({ ...settings, id: 'gpu', base_url: `${busy.url}/v1` }),
    moreEngines: [openAiKind.create({ ...settings, id: 'other', base_url: `${idle.url}/v1` })],
  });
  redis = new Redis(it.redisUrl, { maxRetriesPerRequest: null });
});

afterAll(async () => {
  await redis?.quit();
  await it?.close();
  await Promise.all([busy.close(), idle.close()]);
});

function customers(count: number): Promise<TestCustomer[]> {
  return Promise.all(Array.from({ length: count }, () => customer(it.database.database)));
}

async function order(
  pool: string,
  customers: readonly TestCustomer[],
  prompt = 'a picture',
): Promise<string[]> {
  const ids: string[] = [];
  for (const who of customers) {
    ids.push(await submitImage(it.stack, who, prompt));
  }
  await it.pool.query('UPDATE tasks SET pool = $1 WHERE id = ANY ($2::uuid[])', [pool, ids]);
  return ids;
}

test('delays the tasks of one account whose calls get 429; the pool continues for the others', async () => {
  const [loud, quiet] = await customers(2);
  busy.reset('rate_limit');
  busy.isLimited = ({ json }) => JSON.stringify(json).includes('poison');
  const putOff = await order('gpu', Array(4).fill(loud), 'poison');
  const served = await order('gpu', Array(4).fill(quiet));
  const producer = new Producer(redis, { prefix: it.stack.prefix });
  it.stack.start();
  for (const id of served) {
    expect((await it.ended(id)).task).toMatchObject({ state: 'succeeded', failures: 0 });
    expect(await producer.restingMs(queueName('generate', 'gpu'))).toBe(0);
  }
  await producer.close();
  busy.reset();
  for (const id of putOff) {
    expect((await it.ended(id)).task).toMatchObject({ state: 'succeeded', failures: 0 });
  }
});

test('pauses only the pool that answers 429 to several accounts, then serves both, each task once', async () => {
  busy.reset('rate_limit');
  const waiting = await order('gpu', await customers(3));
  const served = await order('other', Array(6).fill(it.who));
  const producer = new Producer(redis, { prefix: it.stack.prefix });
  const [gpu, other] = [queueName('generate', 'gpu'), queueName('generate', 'other')];
  await eventually(async () => (await producer.restingMs(gpu)) > 0, 30_000, 'the pause');
  for (const id of served) {
    expect(await producer.restingMs(other)).toBe(0);
    expect((await it.ended(id)).task.state).toBe('succeeded');
  }
  expect(idle.accepted).toBe(served.length);
  for (const id of waiting) {
    expect((await it.stack.reads.findTask(id, EVERY_TASK))?.completedAt).toBeNull();
  }
  expect(busy.accepted).toBe(0);

  busy.reset();
  for (const id of waiting) {
    const { task } = await it.ended(id);
    expect(task).toMatchObject({ state: 'succeeded', failures: 0 });
    expect(await it.charges(id)).toHaveLength(1);
  }
  expect(busy.accepted).toBe(waiting.length);
  await producer.close();
});
