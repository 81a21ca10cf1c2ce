import { chartSettings } from '../../ops/reference/chart-schema.ts';
import { loadConfig } from '../../src/config/config.ts';
import { type BuiltApplication, buildApplication } from './built-application.ts';
import { COMPOSE_VARIABLES, readComposeFile } from './compose-file.ts';
import { type Installation, install, post, taskEnd } from './installation.ts';

const compose = readComposeFile(COMPOSE_VARIABLES);

test.each(Object.keys(COMPOSE_VARIABLES))('docker-compose.yml does not start without %s', (name) => {
  expect(() => readComposeFile({ ...COMPOSE_VARIABLES, [name]: '' })).toThrow(name);
});

test.each(['api', 'worker'])('gives %s a complete production configuration', (name) => {
  const service = compose.services[name]!;
  const config = loadConfig({ ...service.environment });
  expect(config).toMatchObject({ production: true, dataFolder: '/data', stripe: null });
  expect(new URL(config.databaseUrl).username).toBe('tollgate_app');
  // both kinds of process exit at the latest 15 s after their drain
  const graceMs = Number.parseInt(service.stop_grace_period!, 10) * 1_000;
  expect(graceMs).toBeGreaterThan(config.drainMs + 15_000);
});

/** Settings of a single process or host, or with only one possible value. */
const NOT_PASSED_ON = /^(WORKER_NAME|PREEMPTION_|OTEL_SERVICE_NAME|TOLLGATE_CELLS|TEST_PAYMENTS|STORAGE_URL)/;

test('passes every other setting of .env to the processes', () => {
  const { environment = {} } = compose.services.api!;
  const absent = chartSettings().filter((name) => !(name in environment) && !NOT_PASSED_ON.test(name));
  expect(absent).toEqual([]);
});

test('exposes only the proxy, and uses the schema owner for migrations only', () => {
  const always = Object.entries(compose.services).filter(([, service]) => !service.profiles);
  const named = (found: typeof always) => found.map(([name]) => name);
  expect(named(always.filter(([, service]) => service.ports))).toEqual(['proxy']);
  const owners = always.filter(([, service]) => JSON.stringify(service).includes('tollgate_owner:'));
  expect(named(owners)).toEqual(['migrate']);
});

describe('the start commands, without containers', () => {
  let built: BuiltApplication;
  let installation: Installation;

  beforeAll(async () => {
    built = await buildApplication();
    installation = await install({ folder: built.folder, redisDatabase: 11, apis: 1, workers: [[]] });
  }, 180_000);

  afterAll(async () => {
    await installation?.remove();
    await built?.remove();
  });

  test('start migrate, api and worker, which then sell an image', async () => {
    const url = installation.urls[0]!;
    const key = await installation.openAccount(url, '1.00');
    const order = { prompt: 'a lighthouse at dusk', size: '256*256' };
    const { task_id: id } = await post<{ task_id: string }>(
      `${url}/v3/async/image-turbo`,
      `Bearer ${key}`,
      order,
    );
    expect(await taskEnd(url, key, id)).toMatchObject({
      task: { status: 'TASK_STATUS_SUCCEED' },
      extra: { charged_amount: '0.005' },
    });
  });

  test('exit with code 0 on SIGTERM', async () => {
    expect(await installation.stop()).toEqual([0, 0]);
  });
});
