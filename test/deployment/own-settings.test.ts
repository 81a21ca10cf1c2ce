import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { type BuiltApplication, buildApplication } from './built-application.ts';
import { ROOT } from './compose-file.ts';
import { post, taskEnd } from './installation.ts';

/** Tests every setting of the README's table with the product as `npm start` starts it, in a fresh folder. */

const START_TIMEOUT_MS = 180_000;
const ADMIN_TOKEN = 'an-admin-token-of-the-settings-tests';
const SECRET = 'a secret of the settings tests, 32 characters';
const ALICE = 'the-token-of-alice-0123456789';

let built: BuiltApplication;
const databases: string[] = [];

beforeAll(async () => {
  built = await buildApplication();
}, START_TIMEOUT_MS);
afterAll(async () => {
  for (const name of databases) {
    await asSuperuser(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
  await built?.remove();
});

async function asSuperuser(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_OWNER_URL });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Creates an empty database and returns its URLs: for its owner, and for a role that may only use it. */
async function ownDatabase(): Promise<{ owner: string; application: string }> {
  const name = `own_${randomBytes(6).toString('hex')}`;
  databases.push(name);
  await asSuperuser(`CREATE DATABASE ${name}`);
  const at = (variable: string) => {
    const url = new URL(process.env[variable]!);
    url.pathname = `/${name}`;
    return url.href;
  };
  return { owner: at('TEST_DATABASE_OWNER_URL'), application: at('TEST_DATABASE_URL') };
}

function ownRedis(database: number): string {
  const url = new URL(process.env.TEST_REDIS_URL!);
  url.pathname = `/${database}`;
  return url.href;
}

interface Started {
  readonly folder: string;
  output(): string;
  /** Interrupts the product like Ctrl-C and returns its exit code. */
  stop(): Promise<number | null>;
}

/** Starts the product as `npm start` does after installation and build, in a new folder with only these settings. */
async function start(settings: Readonly<Record<string, string>>): Promise<Started> {
  const folder = temporaryFolder('settings');
  await symlink(join(built.folder, 'dist'), join(folder, 'dist'), 'dir');
  await copyFile(join(ROOT, 'tollgate.yaml'), join(folder, 'tollgate.yaml'));
  const supervisor = JSON.stringify(join(folder, 'dist/ops/local/supervisor.js'));
  const script = `process.exitCode = await (await import(${supervisor})).main(${JSON.stringify(folder)}, 'start', Date.now())`;
  const { PATH, HOME, XDG_CACHE_HOME } = process.env;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    env: { PATH, HOME, ...(XDG_CACHE_HOME ? { XDG_CACHE_HOME } : {}), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const stop = async () => {
    child.kill('SIGINT');
    const code = await exited;
    return code;
  };
  await untilReady(child, () => output).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { folder, output: () => output, stop };
}

async function untilReady(child: ChildProcess, output: () => string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!output().includes('Tollgate is ready at')) {
    if (child.exitCode !== null || Date.now() > deadline) {
      throw new Error(`the product did not become ready:\n${output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Checks that the product sells at this address: an operator opens an account, and its key calls a model and gets an image. */
async function sells(url: string, adminToken: string): Promise<{ picture: string; key: string }> {
  const account = { name: 'a customer', credits: '1.00' };
  const { key } = await post<{ key: string }>(`${url}/admin/v1/accounts`, `Bearer ${adminToken}`, account);
  await post(`${url}/api/v1/chat/completions`, `Bearer ${key}`, {
    model: 'tollgate/small',
    messages: [{ role: 'user', content: 'hello' }],
    max_tokens: 20,
  });
  const order = { prompt: 'a lighthouse', size: '256*256' };
  const { task_id: id } = await post<{ task_id: string }>(
    `${url}/v3/async/image-turbo`,
    `Bearer ${key}`,
    order,
  );
  const { task, images } = await taskEnd(url, key, id);
  expect(task.status).toBe('TASK_STATUS_SUCCEED');
  return { picture: images[0]!.image_url, key };
}

const tokenIn = async (folder: string) => (await readFile(join(folder, 'admin.token'), 'utf8')).trim();
const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

test('own Postgres with the owner role only: creates an admin token but no account', async () => {
  const port = await choosePort();
  const { owner } = await ownDatabase();
  const started = await start({ PORT: String(port), DATABASE_URL: owner });
  const data = join(started.folder, '.data');
  expect(started.output()).toMatch(/Operator token +\S*\.data\/admin\.token/);
  expect(started.output()).toContain('/admin/v1/accounts');
  expect((await stat(join(data, 'admin.token'))).mode & 0o777).toBe(0o600);
  expect([await exists(join(data, 'owner.key')), await exists(join(data, 'postgres'))]).toEqual([
    false,
    false,
  ]);
  await sells(`http://127.0.0.1:${port}`, await tokenIn(data));
  expect(await started.stop()).toBe(0);
});

test('own Redis', async () => {
  const port = await choosePort();
  const started = await start({ PORT: String(port), REDIS_URL: ownRedis(1) });
  const data = join(started.folder, '.data');
  expect([await exists(join(data, 'redis')), await exists(join(data, 'owner.key'))]).toEqual([false, true]);
  await sells(`http://127.0.0.1:${port}`, await tokenIn(data));
  expect(await started.stop()).toBe(0);
});

test('own Postgres and Redis, with a role that does not own the schema', async () => {
  const port = await choosePort();
  const { owner, application } = await ownDatabase();
  const started = await start({
    PORT: String(port),
    DATABASE_URL: application,
    DATABASE_OWNER_URL: owner,
    REDIS_URL: ownRedis(2),
  });
  await sells(`http://127.0.0.1:${port}`, await tokenIn(join(started.folder, '.data')));
  expect(await started.stop()).toBe(0);
});

test.each([
  ['HOST', '127.0.0.2'],
  ['PUBLIC_URL', 'https://models.example.com/'],
  ['ADMIN_TOKEN', ADMIN_TOKEN],
  ['DATA_DIR', 'elsewhere'],
])('only %s', async (name, value) => {
  const port = await choosePort();
  const host = name === 'HOST' ? value : '127.0.0.1';
  const started = await start({ PORT: String(port), [name]: value });
  const data = join(started.folder, name === 'DATA_DIR' ? value : '.data');
  const token = name === 'ADMIN_TOKEN' ? value : await tokenIn(data);
  const { picture, key } = await sells(`http://${host}:${port}`, token);
  const base = name === 'PUBLIC_URL' ? 'https://models.example.com' : `http://${host}:${port}`;
  expect(picture.startsWith(`${base}/media/`)).toBe(true);
  // test payments, which give credits away, must be off once the service has a public URL
  const checkout = await fetch(`http://${host}:${port}/api/v1/billing/checkout/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ amount: '5.00', currency: 'USD' }),
  });
  expect(checkout.status).toBe(name === 'PUBLIC_URL' ? 503 : 201);
  expect([await exists(join(data, 'postgres')), await exists(join(data, 'owner.key'))]).toEqual([true, true]);
  expect(await exists(join(started.folder, '.data'))).toBe(name !== 'DATA_DIR');
  expect(await started.stop()).toBe(0);
});

test('every setting of the table together', async () => {
  const port = await choosePort();
  const { owner, application } = await ownDatabase();
  const elsewhere = temporaryFolder('elsewhere');
  await mkdir(join(elsewhere, 'data'));
  await mkdir(join(elsewhere, 'roots'));
  await copyFile(join(ROOT, 'tollgate.yaml'), join(elsewhere, 'catalog.yaml'));
  const settings = {
    PORT: String(port),
    HOST: '127.0.0.2',
    PUBLIC_URL: `http://127.0.0.2:${port}`,
    DATABASE_URL: application,
    DATABASE_OWNER_URL: owner,
    REDIS_URL: ownRedis(5),
    DATA_DIR: join(elsewhere, 'data'),
    BOOKS_ROOTS_DIR: join(elsewhere, 'roots'),
    TOLLGATE_CONFIG: join(elsewhere, 'catalog.yaml'),
    TOLLGATE_SECRET: SECRET,
    ADMIN_TOKEN,
    ADMIN_TOKENS: `alice:${ALICE}`,
    API_PROCESSES: '2',
    DATABASE_CONNECTIONS: '8',
    TRUSTED_PROXIES: '1',
    WORKER_NAME: 'gpu-host-1',
    DRAIN_SECONDS: '5',
    LOG_LEVEL: 'warn',
    LOG_KEEP_MB: '20',
    FFMPEG_PATH: process.env.FFMPEG_PATH!,
    FFPROBE_PATH: process.env.FFPROBE_PATH!,
    WEBHOOK_PRIVATE_TARGETS: 'allow',
    TEST_PAYMENTS: 'refuse',
    NODE_ENV: 'production',
    STRIPE_SECRET_KEY: 'sk_test_of_the_settings_tests',
    STRIPE_WEBHOOK_SECRET: 'whsec_of_the_settings_tests',
  };
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const [, table = ''] = /\| Variable \|.*\n([\s\S]*?)\n\n/.exec(readme) ?? [];
  const named = table.split('\n').flatMap((row) => [...row.split('|')[1]!.matchAll(/`([A-Z_0-9]+)`/g)]);
  expect(named.map(([, name]) => name).filter((name) => name && !(name in settings))).toEqual([]);
  expect(named.length).toBeGreaterThan(15);

  const started = await start(settings);
  const url = settings.PUBLIC_URL;
  const { picture } = await sells(url, ALICE);
  expect((await fetch(picture)).status).toBe(200);
  await sells(url, ADMIN_TOKEN);
  expect(await exists(join(settings.DATA_DIR, 'admin.token'))).toBe(false);
  expect(await exists(join(started.folder, '.data'))).toBe(false);
  expect(await started.stop()).toBe(0);
});
