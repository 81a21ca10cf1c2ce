import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../ops/embedded/embedded-postgres.ts';
import { isAlive, waitForExit } from '../../ops/embedded/process-identity.ts';
import { eventually, eventuallyHolds } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const folder = temporaryFolder('start');
const options = { dataDir: folder, logFile: join(folder, 'logs', 'postgres.log') };
const fixture = fileURLToPath(new URL('fixtures/start-postgres.ts', import.meta.url));
let running: EmbeddedPostgres | undefined;

async function start(): Promise<EmbeddedPostgres> {
  running = await startEmbeddedPostgres(options);
  return running;
}

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

test('the first start creates a durable server with an owner and an unprivileged application role', async () => {
  const postgres = await start();
  const [application] = await query(
    postgres.databaseUrl,
    'select rolname, rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user',
  );
  expect(application).toEqual({
    rolname: 'tollgate',
    rolsuper: false,
    rolcreatedb: false,
    rolcreaterole: false,
  });
  const settings = await query(
    postgres.ownerUrl,
    "select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'listen_addresses', 'unix_socket_directories', 'max_connections', 'password_encryption') order by name",
  );
  expect(Object.fromEntries(settings.map((row) => [row.name, row.setting]))).toEqual({
    fsync: 'on',
    full_page_writes: 'on',
    listen_addresses: '127.0.0.1',
    max_connections: '200',
    password_encryption: 'scram-sha-256',
    unix_socket_directories: '',
  });
  const [database] = await query(
    postgres.ownerUrl,
    "select pg_get_userbyid(datdba) as owner, pg_encoding_to_char(encoding) as encoding from pg_database where datname = 'tollgate'",
  );
  expect(database).toEqual({ owner: 'tollgate_owner', encoding: 'UTF8' });
  expect(statSync(join(folder, 'postgres.json')).mode & 0o777).toBe(0o600);
});

test('rejects connections without the password', async () => {
  const postgres = await start();
  const url = new URL(postgres.ownerUrl);
  url.password = 'wrong';
  await expect(query(url.href, 'select 1')).rejects.toThrow(/password authentication failed/);
});

test('port, password and data survive a restart', async () => {
  const first = await start();
  await query(first.ownerUrl, 'create table kept as select 42 as value');
  await first.stop();
  expect(isAlive(first.pid)).toBe(false);
  const second = await start();
  expect(second.databaseUrl).toBe(first.databaseUrl);
  expect(second.adopted).toBe(false);
  expect(await query(second.ownerUrl, 'select value from kept')).toEqual([{ value: 42 }]);
});

test('takes over a server whose starter was killed', async () => {
  const { starter, pid } = await startInOtherProcess();
  starter.kill('SIGKILL');
  await waitForExit(starter.pid ?? 0, 5_000);
  expect(isAlive(pid)).toBe(true);
  const adopted = await start();
  expect(adopted).toMatchObject({ pid, adopted: true });
  await adopted.stop();
  expect(isAlive(pid)).toBe(false);
});

test('a killed server comes back with its committed data', async () => {
  const first = await start();
  await query(first.ownerUrl, 'create table survives as select 1 as value');
  process.kill(first.pid, 'SIGKILL');
  await waitForExit(first.pid, 5_000);
  const second = await start();
  expect(await query(second.ownerUrl, 'select value from survives')).toEqual([{ value: 1 }]);
});

test('a killed server comes back while its sessions are busy and end one by one', async () => {
  const first = await start();
  const sessions = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const client = new pg.Client({ connectionString: first.ownerUrl });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    }),
  );
  // a busy session does not notice that its server is gone; each of these is busy until its file exists, and never outlives the test for long
  const giveUp = new Date(Date.now() + 90_000).toISOString();
  const loops = sessions.map((session, index) =>
    session
      .query(
        `do $$ begin while pg_stat_file('end-${index}', true) is null and clock_timestamp() < '${giveUp}' loop end loop; end $$`,
      )
      .catch(() => undefined),
  );
  await eventuallyHolds(async () => {
    const [busy] = await query(
      first.ownerUrl,
      "select count(*)::integer as count from pg_stat_activity where query like 'do %' and state = 'active'",
    );
    expect(busy).toEqual({ count: sessions.length });
  }, 60_000);
  const logStart = readFileSync(options.logFile).length;
  const log = (): string => readFileSync(options.logFile).subarray(logStart).toString();
  process.kill(first.pid, 'SIGKILL');
  await waitForExit(first.pid, 5_000);
  const restart = start();
  await eventuallyHolds(() => expect(log()).toMatch(/pre-existing shared memory block/), 60_000);
  for (const index of sessions.keys()) {
    writeFileSync(join(first.clusterFolder, `end-${index}`), '');
    await sleep(400);
  }
  const second = await restart;
  expect(log()).toMatch(/due to unexpected postmaster exit/);
  expect(await query(second.ownerUrl, 'select 1 as value')).toEqual([{ value: 1 }]);
  await Promise.all(loops);
});

test('ignores the pid of another program in the pid file', async () => {
  const first = await start();
  await first.stop();
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  writeFileSync(join(folder, 'postgres', 'postmaster.pid'), `${other.pid}\n${folder}/postgres\n`);
  const second = await start();
  expect(second.adopted).toBe(false);
  expect(isAlive(other.pid ?? 0)).toBe(true);
  other.kill('SIGKILL');
});

test('moves to another port when its own was taken in the meantime', async () => {
  const first = await start();
  await first.stop();
  const { createServer } = await import('node:net');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(first.port, '127.0.0.1', resolve));
  const second = await start();
  expect(second.port).not.toBe(first.port);
  server.close();
});

test('restarts an interrupted first start, and reports a lost password file in one clear line', async () => {
  rmSync(join(folder, 'postgres'), { recursive: true });
  mkdirSync(join(folder, 'postgres-init', 'data'), { recursive: true });
  writeFileSync(join(folder, 'postgres-init', 'data', 'half'), 'half');
  const postgres = await start();
  expect(existsSync(join(folder, 'postgres-init'))).toBe(false);
  await postgres.stop();
  const kept = readFileSync(join(folder, 'postgres.json'));
  rmSync(join(folder, 'postgres.json'));
  await expect(startEmbeddedPostgres(options)).rejects.toThrow(/postgres\.json is missing.*Restore it/);
  writeFileSync(join(folder, 'postgres.json'), kept);
});

async function startInOtherProcess(): Promise<{ starter: ChildProcess; pid: number }> {
  const starter = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), fixture, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  starter.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await eventually(async () => output.endsWith('\n'), 30_000, 'the pid of the server');
  return { starter, pid: Number(output) };
}
