import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { isAlive } from '../../ops/embedded/process-identity.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { type SupervisorProcess, startSupervisorProcess } from './supervisor-process.ts';

const folder = temporaryFolder('start');
const dataDir = join(folder, '.data');
let port = 0;
let started: SupervisorProcess[] = [];

beforeAll(async () => {
  port = await choosePort();
});
afterEach(async () => {
  for (const { child, exitCode } of started) {
    child.kill('SIGTERM');
    await exitCode();
  }
  started = [];
});

function start(environment: Record<string, string> = {}): SupervisorProcess {
  writeFileSync(join(folder, 'events'), '');
  const supervisor = startSupervisorProcess(folder, { PORT: String(port), ...environment });
  started.push(supervisor);
  return supervisor;
}

function servicePids(): number[] {
  const postmaster = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0];
  const redis = JSON.parse(readFileSync(join(dataDir, 'redis.json'), 'utf8')) as { pid: number };
  return [Number(postmaster), redis.pid];
}

function afterLastWarning(supervisor: SupervisorProcess): number {
  return supervisor.output().lastIndexOf('Starting Postgres again');
}

function pidOf(supervisor: SupervisorProcess, event: string): number {
  return Number(
    supervisor
      .events()
      .findLast((line) => line.startsWith(event))
      ?.split(' ')
      .at(-1),
  );
}

test('starts everything, says where it is, and stops in order on Ctrl-C', async () => {
  const supervisor = start({ STAND_IN_DRAIN_MS: '300', OPENAI_API_KEY: 'passed-on' });
  await supervisor.ready();
  const environment = (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as Record<string, string>;
  expect(environment).toMatchObject({
    PORT: String(port),
    HOST: '127.0.0.1',
    DATA_DIR: dataDir,
    TOLLGATE_CONFIG: join(folder, 'tollgate.yaml'),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    ADMIN_TOKEN: readFileSync(join(dataDir, 'admin.token'), 'utf8').trim(),
    OPENAI_API_KEY: 'passed-on',
  });
  expect(environment.DATABASE_URL).toMatch(/^postgresql:\/\/tollgate:/);
  expect(environment.REDIS_URL).toMatch(/^redis:\/\/:/);
  expect(environment.DATABASE_OWNER_URL).toBeUndefined();
  expect(environment.TOLLGATE_SECRET?.length).toBeGreaterThanOrEqual(32);
  expect(statSync(join(dataDir, 'secret.key')).mode & 0o777).toBe(0o600);
  const services = servicePids();
  // The whole process group, as the terminal does it. npm repeats it a moment later.
  process.kill(-(supervisor.child.pid ?? 0), 'SIGINT');
  process.kill(supervisor.child.pid ?? 0, 'SIGINT');
  expect(await supervisor.exitCode()).toBe(0);
  expect(services.some(isAlive)).toBe(false);
  expect(existsSync(join(dataDir, 'tollgate.lock'))).toBe(false);
  const events = supervisor.events().map((line) => line.replace(/ \d+$/, ''));
  expect(events.slice(0, 2)).toEqual(['migrate owner', 'first-start owner']);
  expect(events).toEqual(expect.arrayContaining(['api drained', 'worker drained']));
  expect(events.join()).not.toContain('unwanted-int');
  const output = supervisor.output();
  for (const text of [
    '/api/v1/chat/completions',
    'image-turbo',
    'video-fast',
    'task-result',
    '/api/v1/credits',
    'owner.key',
  ]) {
    expect(output).toContain(text);
  }
  expect(output.indexOf('finished')).toBeLessThan(output.lastIndexOf('Redis'));
  expect(output.lastIndexOf('Redis')).toBeLessThan(output.lastIndexOf('Postgres'));
});

test('rejects a second instance on the same data, and recovers by itself after kill -9', async () => {
  const first = start();
  await first.ready();
  const second = start();
  expect(await second.exitCode()).toBe(1);
  expect(second.output()).toMatch(/Tollgate already runs on .* \(process \d+\)\. Stop it with/);
  first.child.kill('SIGKILL');
  await first.exitCode();
  const third = start();
  await third.ready();
  expect(third.output()).toContain('still running, taken over');
  expect(third.output()).toContain('recovering');
});

test('restarts a killed worker, Redis and Postgres', async () => {
  const supervisor = start();
  await supervisor.ready();
  const [postgres, redis] = servicePids();
  const worker = pidOf(supervisor, 'worker begin');
  process.kill(worker, 'SIGKILL');
  process.kill(redis ?? 0, 'SIGKILL');
  process.kill(postgres ?? 0, 'SIGKILL');
  await eventually(async () => pidOf(supervisor, 'worker begin') !== worker, 30_000, 'the worker to restart');
  await eventually(
    async () => {
      const [newPostgres = 0, newRedis = 0] = servicePids();
      return newPostgres !== postgres && newRedis !== redis && isAlive(newPostgres) && isAlive(newRedis);
    },
    30_000,
    'new servers',
  );
  expect(supervisor.output()).toContain('Worker was killed by SIGKILL');
  expect(supervisor.output()).toContain('Postgres exited unexpectedly, restarting it');
});

test('retries a Postgres that temporarily cannot start after its death', async () => {
  const supervisor = start();
  await supervisor.ready();
  const [postgres = 0] = servicePids();
  const control = join(dataDir, 'postgres', 'global', 'pg_control');
  renameSync(control, `${control}.away`);
  process.kill(postgres, 'SIGKILL');
  await eventually(
    async () => supervisor.output().includes('Starting Postgres again in 2 s'),
    30_000,
    'a start that failed',
  );
  renameSync(`${control}.away`, control);
  await eventually(
    async () => {
      const [pid = 0] = existsSync(join(dataDir, 'postgres', 'postmaster.pid')) ? servicePids() : [];
      return (
        pid !== postgres && isAlive(pid) && supervisor.output().includes('port', afterLastWarning(supervisor))
      );
    },
    30_000,
    'a new server',
  );
  expect(supervisor.child.exitCode).toBeNull();
});

test('a second Ctrl-C skips the drain', async () => {
  const supervisor = start({ STAND_IN_DRAIN_MS: '20000' });
  await supervisor.ready();
  const services = servicePids();
  const api = pidOf(supervisor, 'api begin');
  supervisor.child.kill('SIGINT');
  await eventually(
    async () => supervisor.output().includes('Stopping'),
    30_000,
    'the first signal to be seen',
  );
  await new Promise((resolve) => setTimeout(resolve, 800));
  supervisor.child.kill('SIGINT');
  expect(await supervisor.exitCode()).toBe(130);
  await eventually(async () => ![...services, api].some(isAlive), 30_000, 'nothing to run');
});

test('Ctrl-C during the start ends quietly and leaves nothing running', async () => {
  const supervisor = start({ STAND_IN_BROKEN: 'api' });
  await eventually(async () => supervisor.output().includes('next attempt'), 30_000, 'the API to fail');
  const services = servicePids();
  supervisor.child.kill('SIGINT');
  expect(await supervisor.exitCode()).toBe(0);
  expect(services.some(isAlive)).toBe(false);
});

describe('each failure prints one line and leaves nothing running', () => {
  async function failure(environment: Record<string, string>, code = 1): Promise<string> {
    const supervisor = start(environment);
    expect(await supervisor.exitCode()).toBe(code);
    const lines = supervisor
      .output()
      .split('\n')
      .filter((line) => /^ {2}✗ .*[.!]|^ {2}✗ [^ ]+ [^ ]+ /.test(line));
    expect(lines).toHaveLength(1);
    expect(existsSync(join(dataDir, 'tollgate.lock'))).toBe(false);
    return lines[0] ?? '';
  }

  test('invalid settings', async () => {
    expect(await failure({ PORT: 'eighty' }, 2)).toContain(
      'PORT is "eighty", but must be a number from 1 to 65535.',
    );
    expect(await failure({ TOLLGATE_SECRET: 'short' }, 2)).toContain('TOLLGATE_SECRET has 5 characters');
  });

  test('a port that is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    expect(await failure({})).toContain(`Port ${port} is in use by another program.`);
    server.close();
  });

  test('a catalog that is missing or broken', async () => {
    expect(await failure({ TOLLGATE_CONFIG: './no.yaml' }, 2)).toContain('no.yaml does not exist');
    writeFileSync(join(folder, 'broken.yaml'), 'models: [\n  id: "x\n');
    expect(await failure({ TOLLGATE_CONFIG: './broken.yaml' }, 2)).toMatch(
      /broken\.yaml is not valid YAML: line \d/,
    );
  });

  test('a data folder that cannot be written', async () => {
    writeFileSync(join(folder, 'a-file'), '');
    expect(await failure({ DATA_DIR: './a-file' })).toMatch(/a-file.*Set DATA_DIR/);
  });

  test('a failed migration', async () => {
    const line = await failure({ STAND_IN_BROKEN: 'migrate' });
    expect(line).toContain('The database migration failed: ');
    expect(line).toContain('column "price" does not exist');
  });

  test('an API that rejects its settings is not started again', async () => {
    const line = await failure({ STAND_IN_BROKEN: 'api', STAND_IN_EXIT_CODE: '2' }, 2);
    expect(line).toContain(
      'The API does not start, it exited with code 2: the model acme/small has no price.',
    );
  });

  test('gives up after five attempts on a worker that never becomes ready', async () => {
    const line = await failure({ STAND_IN_BROKEN: 'worker' });
    expect(line).toContain('The worker does not start after 5 attempts, it exited with code 1');
  });
});

test('uses servers named by a URL instead of the embedded ones', async () => {
  const other = temporaryFolder('start');
  const supervisor = startSupervisorProcess(other, {
    PORT: String(port),
    DATABASE_URL: 'postgres://someone:secret@db.invalid/tollgate',
    REDIS_URL: 'redis://cache.invalid:6379',
  });
  started.push(supervisor);
  await supervisor.ready();
  const environment = (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as Record<string, string>;
  expect(environment.DATABASE_URL).toBe('postgres://someone:secret@db.invalid/tollgate');
  expect(environment.REDIS_URL).toBe('redis://cache.invalid:6379');
  expect(existsSync(join(other, '.data', 'postgres'))).toBe(false);
  expect(supervisor.events()).not.toContain('first-start owner');
  supervisor.child.kill('SIGTERM');
  expect(await supervisor.exitCode()).toBe(0);
});
