import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { findRedisBinary, redisCacheFolders } from '../../ops/embedded/redis-binary.ts';
import { createProducerConnection, createWorkerConnection } from '../../queues/connection.ts';
import { inspectRedis } from '../../queues/inspect-redis.ts';
import { guardAgainstSpin } from '../../workers/spin-guard.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startMovingAddress } from '../setup/moving-address.ts';

const PREFIX = '{tollgate}';
/** What an operator is told to expect. */
const NORMAL_WITHIN_MS = 15_000;
/** As in docs/infrastructure.md. */
const LEAST_RIGHTS = ['~{tollgate}*', '~tollgate:*', '&*', '+@all', '-@dangerous', '-@admin', '+info'];

const servers: ChildProcess[] = [];
const clients: { disconnect(): void }[] = [];
const queues: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(queues.splice(0).map((queue) => queue.close()));
  for (const client of clients.splice(0)) {
    client.disconnect();
  }
  for (const server of servers.splice(0)) {
    server.kill('SIGKILL');
    await once(server, 'exit');
  }
});

/** A server of its own with these settings; resolves with its port once it answers. */
async function startRedis(...settings: string[]): Promise<number> {
  const folder = temporaryFolder('redis');
  const { command, environment } = await findRedisBinary({
    environment: process.env,
    cacheFolders: redisCacheFolders(process.env, folder),
    onProgress: () => undefined,
  });
  const port = await choosePort();
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  servers.push(
    spawn(command, [...own, ...settings], { env: { ...process.env, ...environment }, stdio: 'ignore' }),
  );
  await eventually(async () => (await admin(port).ping()) === 'PONG');
  return port;
}

/** One connection per port that may do everything. */
function admin(port: number): Redis {
  const client = new Redis({ port, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

const url = (port: number, user = '') => `redis://${user}127.0.0.1:${port}`;

function connected(
  port: number,
  user = '',
): { queue: Queue; done: string[]; worker: Worker; errors: string[] } {
  const producer = createProducerConnection(url(port, user), () => undefined);
  const connection = createWorkerConnection(url(port, user), () => undefined);
  clients.push(producer, connection);
  const done: string[] = [];
  const errors: string[] = [];
  const queue = new Queue('moving', { connection: producer, prefix: PREFIX });
  queue.on('error', () => undefined);
  const worker = new Worker('moving', async (job) => void done.push(job.name), {
    connection,
    prefix: PREFIX,
    runRetryDelay: 1_000,
  });
  worker.on('error', (error) => errors.push(error.message));
  guardAgainstSpin(worker, () => undefined);
  queues.push({ close: () => worker.close(true) }, queue);
  return { queue, done, worker, errors };
}

/** Adds a job, again until it is taken, and waits until it has run. */
async function works({ queue, done }: ReturnType<typeof connected>, name: string): Promise<void> {
  await eventually(async () => await queue.add(name, {}, { jobId: name }), NORMAL_WITHIN_MS, 'a job taken');
  await eventually(async () => done.includes(name), NORMAL_WITHIN_MS, `the job ${name}`);
}

test('the documented rights are enough, and nothing is refused under them', async () => {
  const port = await startRedis();
  const all = admin(port);
  await all.call('ACL', 'SETUSER', 'tg', 'on', '>pw', ...LEAST_RIGHTS);
  await inspectRedis(url(port, 'tg:pw@'), PREFIX);
  await works(connected(port, 'tg:pw@'), 'first');
  expect(await all.call('ACL', 'LOG')).toEqual([]);
});

test.each<[string, string[], string, RegExp]>([
  ['without INFO', ['+@all', '-@dangerous', '-@admin', '~*', '&*'], 'tg:pw@', /NOPERM.*needs:.*\+info/],
  ['without channels', ['+@all', '~*', 'resetchannels'], 'tg:pw@', /NOPERM/],
  ['without the keys', ['+@all', '~other:*', '&*'], 'tg:pw@', /NOPERM/],
  ['with another password', ['+@all', '~*', '&*'], 'tg:wrong@', /password or user is wrong/],
])('a user %s is refused in one line', async (_, rights, user, words) => {
  const port = await startRedis();
  await admin(port).call('ACL', 'SETUSER', 'tg', 'on', '>pw', ...rights);
  const refusal = inspectRedis(url(port, user), PREFIX);
  await expect(refusal).rejects.toMatchObject({
    name: 'RedisSettingsError',
    message: expect.stringMatching(words),
  });
});

test('a cluster is refused in one line, a replica is waited for', async () => {
  const cluster = await startRedis('--cluster-enabled', 'yes');
  await expect(inspectRedis(url(cluster), PREFIX)).rejects.toMatchObject({
    name: 'RedisSettingsError',
    message: expect.stringContaining('Redis Cluster, which is not supported'),
  });
  const master = await startRedis();
  const replica = await startRedis('--replicaof', '127.0.0.1', String(master));
  await expect(inspectRedis(url(replica), PREFIX)).rejects.toMatchObject({
    name: 'Error',
    message: expect.stringContaining('replica'),
  });
}, 20_000);

test('a worker that is refused at every turn rests, and goes on once it may', async () => {
  const port = await startRedis();
  const all = admin(port);
  await all.call('ACL', 'SETUSER', 'tg', 'on', '>pw', ...LEAST_RIGHTS);
  const own = connected(port, 'tg:pw@');
  await works(own, 'before');
  await all.call('ACL', 'SETUSER', 'tg', '-evalsha', '-eval', '-bzpopmin');
  await eventually(async () => own.errors.some((message) => message.includes('NOPERM')), 15_000, 'NOPERM');
  const before = own.errors.length;
  const used = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const { user, system } = process.cpuUsage(used);
  expect(own.errors.length - before).toBeLessThan(50);
  expect((user + system) / 1_000).toBeLessThan(1_000);
  await all.call('ACL', 'SETUSER', 'tg', '+evalsha', '+eval', '+bzpopmin');
  await works(own, 'after');
}, 40_000);

test('the master moves to another server and the old one becomes its replica: workers and producers follow', async () => {
  const [first, second] = [await startRedis(), await startRedis()];
  const address = await startMovingAddress(first);
  clients.push({ disconnect: () => void address.close() });
  const own = connected(address.port);
  await works(own, 'before');
  await admin(first).replicaof('127.0.0.1', second);
  address.move(second);
  const movedAt = performance.now();
  await works(own, 'after');
  expect(performance.now() - movedAt).toBeLessThan(NORMAL_WITHIN_MS);
}, 40_000);

test('a command that waited for the connection and is refused then does not end the process', async () => {
  const port = await startRedis();
  const script = `
    import { createWorkerConnection } from './queues/connection.ts';
    const connection = createWorkerConnection('${url(port)}', () => undefined);
    await connection.ping();
    connection.once('close', () => {
      connection.call('NOSUCHCOMMAND').catch((error) => {
        setImmediate(() => { console.log(error.message); connection.disconnect(); });
      });
    });
    connection.disconnect(true);
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script]);
  const said = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  expect(said).toEqual([expect.stringMatching(/unknown command/), '', [0, null]]);
});

test('a server that vanishes without a word is left', async () => {
  const port = await startRedis();
  const address = await startMovingAddress(port);
  clients.push({ disconnect: () => void address.close() });
  const own = connected(address.port);
  await works(own, 'before');
  address.vanish();
  const vanishedAt = performance.now();
  await works(own, 'after');
  expect(performance.now() - vanishedAt).toBeLessThan(NORMAL_WITHIN_MS);
}, 40_000);
