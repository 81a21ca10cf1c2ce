import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { findRedisBinary, redisCacheFolders } from '../../ops/embedded/redis-binary.ts';
import { deliverWebhook, generateTask } from '../../queues/catalog.ts';
import { createProducerConnection, createWorkerConnection } from '../../queues/connection.ts';
import { inspectRedis } from '../../queues/inspect-redis.ts';
import { Producer } from '../../queues/producer.ts';
import { queuePrefix } from '../../queues/queue-name.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { guardAgainstSpin } from '../../workers/build-workers.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { UNTRUSTED } from '../factories/untrusted-certificate.ts';
import { compiled } from '../setup/compiled.ts';
import { createTestDatabase } from '../setup/database.ts';
import { startMovingAddress } from '../setup/moving-address.ts';

const PREFIX = 'tollgate';
const QUEUE = 'moving';
/** The time operators are told to expect. */
const NORMAL_WITHIN_MS = 15_000;
/** As in docs/infrastructure.md. */
const LEAST_RIGHTS = [
  '~{tollgate:*',
  '~tollgate:*',
  '&tollgate.*',
  '+@all',
  '-@dangerous',
  '-@admin',
  '+info',
];

const servers: ChildProcess[] = [];
const clients: { disconnect(): void }[] = [];
const queues: { close(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(queues.splice(0).map((queue) => queue.close()));
  for (const client of clients.splice(0)) {
    client.disconnect();
  }
  for (const server of servers.splice(0)) {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
  }
});

/** Starts a separate server with these settings. Resolves with its port once it answers. */
async function startRedis(...settings: string[]): Promise<number> {
  const port = await choosePort();
  await runServer(port, '--port', String(port), '--bind', '127.0.0.1', '--save', '', ...settings);
  return port;
}

/** Starts a sentinel that watches the master at that port and promotes its replica a second after it has gone. Resolves with its port. */
async function startSentinel(master: number): Promise<number> {
  const port = await choosePort();
  const file = join(temporaryFolder('sentinel'), 'sentinel.conf');
  const settings = ['down-after-milliseconds main 1000', 'failover-timeout main 3000'];
  const lines = [`monitor main 127.0.0.1 ${master} 1`, ...settings].map((line) => `sentinel ${line}`);
  writeFileSync(file, `${[`port ${port}`, 'bind 127.0.0.1', ...lines].join('\n')}\n`);
  await runServer(port, file, '--sentinel');
  return port;
}

async function runServer(port: number, ...args: string[]): Promise<void> {
  const folder = temporaryFolder('redis');
  const { command, environment } = await findRedisBinary({
    environment: process.env,
    cacheFolders: redisCacheFolders(process.env, folder),
    onProgress: () => undefined,
  });
  const env = { ...process.env, ...environment };
  servers.push(spawn(command, args, { env, cwd: folder, stdio: 'ignore' }));
  await eventually(async () => (await admin(port).ping()) === 'PONG');
}

/** Returns one connection per port with all rights. */
function admin(port: number): Redis {
  const client = new Redis({ port, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

const url = (port: number, user = '') => `redis://${user}127.0.0.1:${port}`;

function connected(address: string): { queue: Queue; done: string[]; worker: Worker; errors: string[] } {
  const producer = createProducerConnection(address, () => undefined);
  const connection = createWorkerConnection(address, () => undefined);
  clients.push(producer, connection);
  const done: string[] = [];
  const errors: string[] = [];
  const queue = new Queue(QUEUE, { connection: producer, prefix: queuePrefix(PREFIX, QUEUE) });
  queue.on('error', () => undefined);
  const worker = new Worker(QUEUE, async (job) => void done.push(job.name), {
    connection,
    prefix: queuePrefix(PREFIX, QUEUE),
    runRetryDelay: 1_000,
  });
  worker.on('error', (error) => errors.push(error.message));
  guardAgainstSpin(worker, () => undefined);
  queues.push({ close: () => worker.close(true) }, queue);
  return { queue, done, worker, errors };
}

/** Adds a job, retrying until it is accepted, and waits until it has run. */
async function works({ queue, done }: ReturnType<typeof connected>, name: string): Promise<void> {
  await eventually(
    async () => await queue.add(name, {}, { jobId: name }),
    NORMAL_WITHIN_MS,
    'an accepted job',
  );
  await eventually(async () => done.includes(name), NORMAL_WITHIN_MS, `the job ${name}`);
}

test('needs no more than the documented rights, with no command denied', async () => {
  const port = await startRedis();
  const all = admin(port);
  await all.call('ACL', 'SETUSER', 'tg', 'on', '>pw', ...LEAST_RIGHTS);
  await inspectRedis(url(port, 'tg:pw@'), PREFIX);
  await works(connected(url(port, 'tg:pw@')), 'first');
  expect(await all.call('ACL', 'LOG')).toEqual([]);
});

test('isolates installations that share a Redis and gives each queue its own slot', async () => {
  const connection = admin(await startRedis());
  const cluster = admin(await startRedis('--cluster-enabled', 'yes'));
  const [ours, theirs] = ['tollgate', 'other'].map((prefix) => new Producer(connection, { prefix }));
  await eventually(async () => connection.status === 'ready');
  await ours?.addAll('webhooks', deliverWebhook, [{ deliveryId: newUuid(), dispatch: 1 }]);
  await ours?.addAll('generate-gpu', generateTask, [{ taskId: newUuid(), dispatch: 1 }]);
  expect(await theirs?.waiting('webhooks')).toBe(0);
  expect(await ours?.waiting('webhooks')).toBe(1);
  const slots = async (queue: string) => {
    const keys = await connection.keys(`{tollgate:${queue}}:*`);
    return new Set(await Promise.all(keys.map((key) => cluster.call('CLUSTER', 'KEYSLOT', key))));
  };
  const [webhooks, generate] = await Promise.all([slots('webhooks'), slots('generate-gpu')]);
  expect([webhooks.size, generate.size]).toEqual([1, 1]);
  expect(webhooks).not.toEqual(generate);
  await Promise.all([ours?.close(), theirs?.close()]);
});

test.each<[string, string[], string, RegExp]>([
  ['without INFO', ['+@all', '-@dangerous', '-@admin', '~*', '&*'], 'tg:pw@', /NOPERM.*needs:.*\+info/],
  ['without channels', ['+@all', '~*', 'resetchannels'], 'tg:pw@', /NOPERM/],
  ['without the keys', ['+@all', '~other:*', '&*'], 'tg:pw@', /NOPERM/],
  ['with another password', ['+@all', '~*', '&*'], 'tg:wrong@', /password or user is wrong/],
])('rejects a user %s in one line', async (_, rights, user, words) => {
  const port = await startRedis();
  await admin(port).call('ACL', 'SETUSER', 'tg', 'on', '>pw', ...rights);
  const refusal = inspectRedis(url(port, user), PREFIX);
  await expect(refusal).rejects.toMatchObject({
    name: 'RedisSettingsError',
    message: expect.stringMatching(words),
  });
});

test('rejects an untrusted certificate in one line that says what to set', async () => {
  const server = createTlsServer(UNTRUSTED, (socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await expect(inspectRedis(`rediss://127.0.0.1:${port}`, PREFIX)).rejects.toMatchObject({
    name: 'RedisSettingsError',
    message: expect.stringMatching(/^REDIS_URL: the TLS .* refused \(self-signed .*NODE_EXTRA_CA_CERTS=/),
  });
  server.close();
});

test('rejects a cluster in one line and waits for a replica', async () => {
  // its second port would be 10,000 above the first, where systems take ports for outgoing connections
  const busPort = String(await choosePort());
  const cluster = await startRedis('--cluster-enabled', 'yes', '--cluster-port', busPort);
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
});

test('refuses a database that the server does not have, instead of using database 0', async () => {
  const port = await startRedis('--databases', '4');
  await expect(inspectRedis(`${url(port)}/4`, PREFIX)).rejects.toMatchObject({
    name: 'RedisSettingsError',
    message: expect.stringMatching(/^REDIS_URL: this server has no database 4: /),
  });
  await inspectRedis(`${url(port)}/3`, PREFIX);
  expect(await admin(port).dbsize()).toBe(0);
});

test('exits with one line and code 2 when the password of a worker is wrong', async () => {
  const port = await startRedis();
  await admin(port).call('ACL', 'SETUSER', 'tg', 'on', '>right', ...LEAST_RIGHTS);
  const db = await createTestDatabase();
  const child = spawn(process.execPath, [await compiled('workers/main.ts')], {
    env: {
      ...process.env,
      DATABASE_URL: db.url,
      REDIS_URL: url(port, 'tg:wrong@'),
      DATA_DIR: temporaryFolder('worker'),
      TOLLGATE_SECRET: 'a secret of the Redis tests, 32 characters',
      ADMIN_TOKEN: 'admin-token-of-the-redis-tests',
      LOG_LEVEL: 'silent',
    },
  });
  const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  await db.close();
  expect([code, complaint]).toEqual([
    2,
    expect.stringMatching(/^REDIS_URL: the password or user is wrong.*\n$/),
  ]);
});

test('follows the master that sentinels name, even after it has died', async () => {
  const master = await startRedis();
  const replica = await startRedis('--replicaof', '127.0.0.1', String(master));
  const sentinel = await startSentinel(master);
  const address = `redis+sentinel://127.0.0.1:${sentinel}/main`;
  await inspectRedis(address, PREFIX);
  const own = connected(address);
  await works(own, 'before');
  const knowsReplica = async () =>
    /slave0:ip=127.0.0.1,port=\d+,state=online/.test(await admin(master).info('replication')) &&
    ((await admin(sentinel).call('SENTINEL', 'replicas', 'main')) as unknown[]).length === 1;
  await eventually(knowsReplica, 30_000, 'a replica that the sentinel knows');
  servers[0]?.kill('SIGKILL');
  // a sentinel stalled by a busy machine does nothing for 30 s
  await eventually(
    async () => (await admin(replica).info('replication')).includes('role:master'),
    60_000,
    'a new master',
  );
  const chosenAt = performance.now();
  await works(own, 'after');
  expect(performance.now() - chosenAt).toBeLessThan(NORMAL_WITHIN_MS);
});

test('recovers a connection that is told to reconnect while it asks a sentinel', async () => {
  const master = await startRedis();
  const sentinel = await startSentinel(master);
  const connection = createProducerConnection(`redis+sentinel://127.0.0.1:${sentinel}/main`, () => undefined);
  clients.push(connection);
  connection.disconnect(true);
  await eventually(async () => (await connection.ping()) === 'PONG', NORMAL_WITHIN_MS, 'an answer');
});

test('rests a worker whose every command is denied, and continues once it is allowed', async () => {
  const port = await startRedis();
  const all = admin(port);
  await all.call('ACL', 'SETUSER', 'tg', 'on', '>pw', ...LEAST_RIGHTS);
  const own = connected(url(port, 'tg:pw@'));
  await works(own, 'before');
  await all.call('ACL', 'SETUSER', 'tg', '-evalsha', '-eval', '-bzpopmin');
  await eventually(async () => own.errors.some((message) => message.includes('NOPERM')), 30_000, 'NOPERM');
  const before = own.errors.length;
  const used = process.cpuUsage();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const { user, system } = process.cpuUsage(used);
  expect(own.errors.length - before).toBeLessThan(50);
  expect((user + system) / 1_000).toBeLessThan(1_000);
  await all.call('ACL', 'SETUSER', 'tg', '+evalsha', '+eval', '+bzpopmin');
  await works(own, 'after');
});

test('follows with workers and producers when the master moves and the old one becomes its replica', async () => {
  const [first, second] = [await startRedis(), await startRedis()];
  const address = await startMovingAddress(first);
  clients.push({ disconnect: () => void address.close() });
  const own = connected(url(address.port));
  await works(own, 'before');
  await admin(first).replicaof('127.0.0.1', second);
  address.move(second);
  const movedAt = performance.now();
  await works(own, 'after');
  expect(performance.now() - movedAt).toBeLessThan(NORMAL_WITHIN_MS);
});

test('does not end the process when a command that waited for the connection is then rejected', async () => {
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

test('leaves a server that vanishes silently', async () => {
  const port = await startRedis();
  const address = await startMovingAddress(port);
  clients.push({ disconnect: () => void address.close() });
  const own = connected(url(address.port));
  await works(own, 'before');
  address.vanish();
  const vanishedAt = performance.now();
  await works(own, 'after');
  expect(performance.now() - vanishedAt).toBeLessThan(NORMAL_WITHIN_MS);
});
