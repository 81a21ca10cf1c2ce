import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type EmbeddedRedis, startEmbeddedRedis } from '../../ops/embedded/embedded-redis.ts';
import { isAlive, waitForExit } from '../../ops/embedded/process-identity.ts';
import { findRedisBinary, redisCacheFolders } from '../../ops/embedded/redis-binary.ts';
import { probeRedis } from '../../ops/embedded/redis-probe.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const folder = temporaryFolder('start');
const options = {
  dataDir: folder,
  logFile: join(folder, 'logs', 'redis.log'),
  environment: process.env,
  cacheFolders: redisCacheFolders(process.env, folder),
};
let running: EmbeddedRedis | undefined;

async function start(): Promise<EmbeddedRedis> {
  running = await startEmbeddedRedis(options);
  return running;
}

async function withClient<Result>(url: string, work: (client: Redis) => Promise<Result>): Promise<Result> {
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

test('never evicts, keeps an append-only file and requires a password', async () => {
  const redis = await start();
  const settings = await withClient(redis.redisUrl, async (client) => [
    await client.config('GET', 'maxmemory-policy'),
    await client.config('GET', 'appendonly'),
    await client.config('GET', 'appendfsync'),
    await client.config('GET', 'bind'),
  ]);
  expect(settings).toEqual([
    ['maxmemory-policy', 'noeviction'],
    ['appendonly', 'yes'],
    ['appendfsync', 'everysec'],
    ['bind', '127.0.0.1'],
  ]);
  expect(await probeRedis(redis.port, 'wrong')).toBeUndefined();
  expect(statSync(join(folder, 'redis', 'redis.conf')).mode & 0o777).toBe(0o600);
});

test('port, password and data survive a restart', async () => {
  const first = await start();
  await withClient(first.redisUrl, (client) => client.set('kept', '42'));
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);
  const second = await start();
  expect(second.redisUrl).toBe(first.redisUrl);
  expect(await withClient(second.redisUrl, (client) => client.get('kept'))).toBe('42');
});

test('takes over a server that is still running', async () => {
  const first = await start();
  const second = await start();
  expect(second).toMatchObject({ pid: first.pid, adopted: true, redisUrl: first.redisUrl });
});

test('ends a hanging server of ours instead of adopting it', async () => {
  const first = await start();
  process.kill(first.pid, 'SIGSTOP');
  // SIGTERM takes effect only when the process continues. A kill does not wait.
  setTimeout(() => process.kill(first.pid, 'SIGCONT'), 2_500);
  const second = await start();
  expect(second.pid).not.toBe(first.pid);
  expect(isAlive(first.pid)).toBe(false);
});

test('moves files aside that cannot be loaded', async () => {
  const first = await start();
  await withClient(first.redisUrl, (client) => client.set('lost', '1'));
  process.kill(first.pid, 'SIGKILL');
  await waitForExit(first.pid, 5_000);
  const appended = join(folder, 'redis', 'appendonlydir');
  for (const name of readdirSync(appended)) {
    writeFileSync(join(appended, name), 'this is no append-only file');
  }
  const second = await start();
  expect(await withClient(second.redisUrl, (client) => client.get('lost'))).toBeNull();
  expect(readdirSync(folder).some((name) => name.startsWith('redis.unreadable-'))).toBe(true);
});

test('without a way to get a server one line says what to do', async () => {
  const search = findRedisBinary({
    environment: { PATH: '/nonexistent' },
    cacheFolders: [join(folder, 'logs', 'redis.log', 'impossible')],
    onProgress: () => undefined,
  });
  await expect(search).rejects.toThrow(
    /^No Redis server found: .*Install redis-server 6\.2\+, or set REDIS_URL\.$/,
  );
});
