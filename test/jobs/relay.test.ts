import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { postprocessTask } from '../../queues/catalog.ts';
import { createProducerConnection } from '../../queues/connection.ts';
import { Producer } from '../../queues/producer.ts';
import { defineFeed, type RelayTicket } from '../../queues/relay-feed.ts';
import { oneCell } from '../../src/store/cells.ts';
import { TaskDispatchStore } from '../../src/tasks/task-dispatch.store.ts';
import { startRelay } from '../../workers/start-relay.ts';
import { eventually } from '../factories/eventually.ts';
import { customer, submitImage, type TestCustomer } from '../factories/task-order.ts';
import { FAST_RELAY } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';

const REDIS_DATABASE = 3;
let it: TaskTest;
let redis: Redis;
let producer: Producer;
let accounts: TestCustomer[];

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: REDIS_DATABASE });
  redis = createProducerConnection(it.redisUrl, () => undefined);
  producer = new Producer(redis, { prefix: it.stack.prefix });
  accounts = await Promise.all(Array.from({ length: 3 }, () => customer(it.database.database)));
  await eventually(async () => redis.status === 'ready');
});

afterAll(async () => {
  await producer?.close();
  redis?.disconnect();
  await it?.close();
});

beforeEach(async () => {
  await it.pool.query('UPDATE tasks SET cancel_requested_at = clock_timestamp() WHERE completed_at IS NULL');
  await it.stack.services.sweeps.sweep();
  await redis.flushdb();
});

async function backlog(who: TestCustomer, tasks: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < tasks; index += 1) {
    ids.push(await submitImage(it.stack, who, 'run=1'));
  }
  return ids;
}

function accountsOf(tickets: readonly RelayTicket[], owners: Map<string, string>): string[] {
  return tickets.map((ticket) => owners.get(ticket.id) ?? '?');
}

test('rotates among the accounts: a backlog of one does not hold up the others', async () => {
  const owners = new Map<string, string>();
  const [a, b, c] = accounts as [TestCustomer, TestCustomer, TestCustomer];
  for (const [who, name, tasks] of [
    [a, 'a', 6],
    [b, 'b', 2],
    [c, 'c', 1],
  ] as const) {
    for (const id of await backlog(who, tasks)) {
      owners.set(id, name);
    }
  }
  const source = new TaskDispatchStore(oneCell(it.database.database), 100).queued('gpu');
  const first = accountsOf(await source.take(5, 30_000), owners);
  const second = accountsOf(await source.take(10, 30_000), owners);
  expect([...first.slice(0, 3)].sort()).toEqual(['a', 'b', 'c']);
  expect([...first.slice(3)].sort()).toEqual(['a', 'b']);
  expect(second).toEqual(['a', 'a', 'a', 'a']);
});

test('counts the running tasks of an account as turns taken, and dispatches no more above its cap', async () => {
  const [a, b] = accounts as [TestCustomer, TestCustomer];
  // several may be made in one ms, and then their ids do not tell which came first
  const busy = (await backlog(a, 5)).toSorted();
  for (const id of busy.slice(0, 2)) {
    await it.stack.claims.claim(id, 'generating', 'w', 60_000);
  }
  const [fresh] = await backlog(b, 1);
  const source = new TaskDispatchStore(oneCell(it.database.database), 3).queued('gpu');
  const taken = await source.take(10, 30_000);
  expect(taken.map(({ id }) => id)).toEqual([fresh, busy[2]]);
  expect(await source.take(10, 30_000)).toEqual([]);
  await it.pool.query('UPDATE tasks SET lease_until = clock_timestamp() WHERE id = ANY ($1)', [
    busy.slice(0, 2),
  ]);
});

test('counts dispatched tasks that still wait as turns taken, too', async () => {
  const [a, b] = accounts as [TestCustomer, TestCustomer];
  const first = (await backlog(a, 6)).toSorted();
  const source = new TaskDispatchStore(oneCell(it.database.database), 100).queued('gpu');
  await source.take(3, 30_000);
  const second = (await backlog(b, 4)).toSorted();
  const taken = await source.take(5, 30_000);
  expect(taken.map(({ id }) => id)).toEqual([...second.slice(0, 3), first[3], second[3]]);
});

test('shares the rows among many relays at once and dispatches none twice', async () => {
  await backlog(accounts[0] as TestCustomer, 60);
  const stores = Array.from({ length: 6 }, () =>
    new TaskDispatchStore(oneCell(it.database.database), 1_000).queued('gpu'),
  );
  const taken = (await Promise.all(stores.map((source) => source.take(25, 30_000)))).flat();
  const rest = await stores[0]?.take(100, 30_000);
  const ids = [...taken, ...(rest ?? [])].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBe(60);
});

test('keeps the queue shallow while rows wait, and refills it as jobs are taken', async () => {
  await it.stack.dispatch.registerSlots('test-worker', new Map([['generate-gpu', 3]]));
  await backlog(accounts[0] as TestCustomer, 20);
  const relay = startRelay(it.stack, producer, FAST_RELAY);
  const waiting = () => producer.waiting('generate-gpu');
  await eventually(async () => (await waiting()) === 6);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await waiting()).toBe(6);
  const queue = producer.queue('generate-gpu');
  const [job] = await queue.getWaiting(0, 0);
  await job?.remove();
  await eventually(async () => (await waiting()) === 6 && (await queue.getJob(job?.id ?? '')) === undefined);
  await relay.close();
  await it.stack.dispatch.forgetWorker('test-worker');
});

test('sends jobs that Redis forgot again, as new jobs', async () => {
  const [id] = await backlog(accounts[0] as TestCustomer, 1);
  const relay = startRelay(it.stack, producer, FAST_RELAY);
  const queue = producer.queue('generate-gpu');
  await eventually(async () => (await queue.getWaiting())[0]?.id === `${id}-1`);
  await redis.flushdb();
  await eventually(async () => (await queue.getWaiting())[0]?.id === `${id}-2`, 30_000, 'a second dispatch');
  await relay.close();
});

test('marks nothing as dispatched while Redis is away, and sends the rows when it is back', async () => {
  const [id] = await backlog(accounts[0] as TestCustomer, 1);
  const broken = new Producer(createBroken(), { prefix: it.stack.prefix });
  const dead = startRelay(it.stack, broken, FAST_RELAY);
  await new Promise((resolve) => setTimeout(resolve, 400));
  await dead.close();
  const { rows } = await it.pool.query('SELECT dispatched_at, dispatches FROM tasks WHERE id = $1', [id]);
  expect(rows).toEqual([{ dispatched_at: null, dispatches: 0 }]);
  const relay = startRelay(it.stack, producer, FAST_RELAY);
  await eventually(async () => (await producer.waiting('generate-gpu')) === 1);
  await relay.close();
});

test('puts the rows back at once when sending fails halfway', async () => {
  const taken: RelayTicket[][] = [];
  const back: (readonly RelayTicket[])[] = [];
  const feed = defineFeed({
    queue: 'postprocess',
    contract: postprocessTask,
    // Not a payload of this contract: sending throws.
    toPayload: () => ({ taskId: 'none', dispatch: 0 }),
    source: {
      take: async () => {
        const tickets = taken.length === 0 ? [{ id: 'x', dispatch: 1 }] : [];
        taken.push(tickets);
        return tickets;
      },
      putBack: async (tickets) => {
        back.push(tickets);
      },
    },
  });
  const { Relay } = await import('../../queues/relay.ts');
  const errors: unknown[] = [];
  const relay = new Relay({
    producer,
    feeds: [feed],
    liveSlots: async () => new Map(),
    onError: (error) => errors.push(error),
    settings: FAST_RELAY,
  });
  await eventually(async () => back.length > 0);
  await relay.close();
  expect(back).toEqual([[{ id: 'x', dispatch: 1 }]]);
  expect(errors).toHaveLength(1);
});

test('wakes the relay by a notification: a task is picked up well before the sweep', async () => {
  const running = it.stack.start();
  await eventually(async () => (await it.stack.dispatch.liveSlots()).size > 0);
  const latencies: number[] = [];
  for (let index = 0; index < 10; index += 1) {
    const id = await submitImage(it.stack, accounts[1] as TestCustomer, 'run=0');
    await it.ended(id);
    const { rows } = await it.pool.query<{ ms: number }>(
      'SELECT extract(epoch FROM started_at - created_at)::float8 * 1000 AS ms FROM tasks WHERE id = $1',
      [id],
    );
    latencies.push(rows[0]?.ms ?? Number.POSITIVE_INFINITY);
  }
  await running.close();
  latencies.sort((a, b) => a - b);
  expect(latencies[5]).toBeLessThan(100);
});

function createBroken(): Redis {
  const broken = new Redis({
    lazyConnect: true,
    port: 1,
    retryStrategy: () => null,
    enableOfflineQueue: false,
  });
  broken.on('error', () => undefined);
  return broken;
}
