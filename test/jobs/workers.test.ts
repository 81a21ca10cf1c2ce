import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { JOBS } from '../../queues/catalog.ts';
import { createProducerConnection, createWorkerConnection } from '../../queues/connection.ts';
import { Producer } from '../../queues/producer.ts';
import { queuePrefix } from '../../queues/queue-name.ts';
import { TaskSignalsStore } from '../../src/tasks/task-signals.store.ts';
import { Liveness } from '../../workers/liveness.ts';
import { type Processors, runJob } from '../../workers/run-job.ts';
import { eventually } from '../factories/eventually.ts';
import { silentLog } from '../factories/ledger.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

const REDIS_DATABASE = 6;
const CHORES = Object.values(JOBS).filter(({ family }) => family === 'maintenance').length;
const ID = '01a1ff03-d613-b90b-6ffe-13d8e8629f1a';

let it: TaskTest;
let redis: Redis;
let producer: Producer;

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: REDIS_DATABASE });
  redis = createProducerConnection(it.redisUrl, () => undefined);
  producer = new Producer(redis, { prefix: it.stack.prefix });
  await eventually(async () => redis.status === 'ready');
});

afterAll(async () => {
  await producer?.close();
  redis?.disconnect();
  await it?.close();
});

type FakeJob = Parameters<typeof runJob>[0];

function job(name: string, data: unknown): FakeJob {
  return { name, data, id: 'job-1', queueName: 'generate-gpu' } as unknown as FakeJob;
}

const only = (processor: Processors['tasks.generate']): Processors =>
  ({ 'tasks.generate': processor }) as unknown as Processors;

test('fails a job of an unknown name or payload permanently, without a run', async () => {
  let runs = 0;
  const processors = only(async () => {
    runs += 1;
    return 'done';
  });
  await expect(runJob(job('tasks.paint', {}), processors, silentLog)).rejects.toMatchObject({
    name: 'UnrecoverableError',
  });
  await expect(runJob(job('tasks.generate', { taskId: 'x' }), processors, silentLog)).rejects.toMatchObject({
    name: 'UnrecoverableError',
  });
  expect(runs).toBe(0);
  expect(await runJob(job('tasks.generate', { taskId: ID, dispatch: 1 }), processors, silentLog)).toBe(
    'done',
  );
});

test('passes only the name of a thrown error to Redis, and fails permanently when the error says so', async () => {
  const secret = Object.assign(new Error('canary: the prompt was a river'), { code: 'X1' });
  const data = { taskId: ID, dispatch: 1 };
  const fail = (error: Error) =>
    runJob(
      job('tasks.generate', data),
      only(async () => {
        throw error;
      }),
      silentLog,
    );
  await expect(fail(secret)).rejects.toMatchObject({ name: 'Error', message: 'Error X1' });
  const final = Object.assign(new Error('canary'), { retryable: false });
  await expect(fail(final)).rejects.toMatchObject({ name: 'UnrecoverableError', message: 'Error' });
});

test('shows a permanently failed task as a failed job on the board, by its code, and does not run it again', async () => {
  const running = it.stack.start();
  const id = await submitImage(it.stack, it.who, 'fail=content_refused');
  await it.ended(id);
  const queue = producer.queue('generate-gpu');
  const failed = await eventually(
    async () => (await queue.getFailed()).find(({ data }) => data.taskId === id),
    30_000,
    'the failed job',
  );
  await running.close();
  expect(failed).toMatchObject({ failedReason: 'the task failed: content_refused', attemptsMade: 1 });
});

test('detects a connected worker that takes nothing while jobs wait, but not one paused on purpose', async () => {
  const connection = createWorkerConnection(it.redisUrl, () => undefined);
  const queue = new Queue('stuck', { connection: redis, prefix: queuePrefix(it.stack.prefix, 'stuck') });
  const worker = new Worker('stuck', async () => undefined, {
    connection,
    prefix: queuePrefix(it.stack.prefix, 'stuck'),
    autorun: false,
  });
  const stuck: string[] = [];
  const liveness = new Liveness([worker], producer, (name) => stuck.push(name), {
    stuckAfterMs: 120,
    checkMs: 20,
  });
  await queue.add('job', {});
  await queue.pause();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(stuck).toEqual([]);
  await queue.resume();
  await eventually(async () => stuck.length > 0, 3_000);
  await liveness.close();
  await worker.close();
  await queue.close();
  connection.disconnect();
  expect(stuck[0]).toBe('stuck');
});

test('restores the schedule of chores after Redis has forgotten it', async () => {
  const running = it.stack.start('maintenance');
  const schedulers = async () => await producer.queue('maintenance').getJobSchedulersCount();
  await eventually(async () => (await schedulers()) === CHORES);
  await redis.flushdb();
  await eventually(async () => (await schedulers()) === CHORES, 30_000, 'the restored schedule');
  await running.close();
});

test('sweeps a lapsed lease by the schedule alone', async () => {
  const running = it.stack.start('maintenance');
  const id = await submitImage(it.stack, it.who, 'run=1');
  await it.stack.claims.claim(id, 'generating', 'dead', 1);
  await it.inState(id, 'queued');
  await running.close();
  await it.pool.query('UPDATE tasks SET cancel_requested_at = clock_timestamp() WHERE id = $1', [id]);
  await it.stack.services.sweeps.sweep();
});

test('receives notifications again after the connection was cut', async () => {
  const heard: (string | undefined)[] = [];
  const signals = new TaskSignalsStore(
    it.database.database.openClient,
    (queue) => heard.push(queue),
    () => undefined,
  );
  await eventually(async () => heard.length === 1);
  await it.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollgate-signals' AND datname = current_database()",
  );
  await eventually(async () => heard.length === 2);
  await it.pool.query("SELECT pg_notify('tollgate_tasks', 'webhooks')");
  await eventually(async () => heard.length === 3);
  await signals.close();
  expect(heard).toEqual([undefined, undefined, 'webhooks']);
});

test('fails at once in a producer while Redis is away, and works once it is there', async () => {
  const away = new Redis({ lazyConnect: true, port: 1, retryStrategy: () => null });
  away.on('error', () => undefined);
  const startedAt = Date.now();
  await expect(new Producer(away, { prefix: 'x' }).waiting('q')).rejects.toMatchObject({
    name: 'QueueUnavailableError',
  });
  expect(Date.now() - startedAt).toBeLessThan(5_000);
  expect(await producer.waiting('generate-gpu')).toBeGreaterThanOrEqual(0);
});
