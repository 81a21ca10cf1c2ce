import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startEmbeddedRedis } from '../../ops/embedded/embedded-redis.ts';
import { findFfmpeg } from '../../ops/embedded/ffmpeg.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { redisCacheFolders } from '../../ops/embedded/redis-binary.ts';
import { ALLOCATOR_SETTINGS } from '../../ops/local/programs.ts';
import { ownTemporaryFolder } from '../../test/factories/temporary-folder.ts';
import { openAccounts } from '../measure/accounts.ts';
import { startBenchPostgres } from '../measure/bench-postgres.ts';
import { Inspector } from '../measure/inspector.ts';
import { addressOf, startProcess, stopProcess } from '../measure/processes.ts';
import type { ProbedParts } from './probes.ts';
import type { TrafficOptions } from './traffic.ts';

const ACCOUNTS = 8;
const ADMIN_TOKEN = 'admin-token-of-the-soak-of-tollgate';
const INSPECTOR_WAIT_MS = 60_000;

/** API and worker with their own Postgres, Redis and providers. Each process has an inspector. */
export interface SoakStack extends ProbedParts {
  readonly traffic: TrafficOptions;
  stop(): Promise<void>;
}

/** What starts before the product's processes and outlives their restart. */
export interface SoakServices {
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly ownerUrl: string;
  readonly redisUrl: string;
  readonly redisPid: number;
  readonly webhook: string;
  stop(): Promise<void>;
}

export async function startServices(): Promise<SoakServices> {
  const folder = ownTemporaryFolder('bench-soak');
  mkdirSync(join(folder, 'data'));
  mkdirSync(join(folder, 'tmp'));
  const postgres = await startBenchPostgres();
  const redis = await startEmbeddedRedis({
    dataDir: folder,
    durable: true,
    logFile: join(folder, 'redis.log'),
    environment: process.env,
    cacheFolders: redisCacheFolders(process.env, folder),
  });
  const upstreams = startProcess('bench/soak/upstreams.ts', {}, join(folder, 'upstreams.log'));
  const { webhook = '', ...providers } = JSON.parse(await addressOf(upstreams)) as Record<string, string>;
  const catalogFile = join(folder, 'tollgate.yaml');
  writeFileSync(catalogFile, catalogOf(providers));
  const { ffmpeg, ffprobe } = findFfmpeg(process.env);
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.redisUrl,
    DATA_DIR: join(folder, 'data'),
    TMPDIR: join(folder, 'tmp'),
    TOLLGATE_CONFIG: catalogFile,
    TOLLGATE_SECRET: 'a secret of the soak of Tollgate, 32 characters',
    ADMIN_TOKEN,
    FFMPEG_PATH: ffmpeg,
    FFPROBE_PATH: ffprobe,
    TRUSTED_PROXIES: '1',
    WEBHOOK_PRIVATE_TARGETS: 'allow',
    PORT: String(await choosePort()),
    LOG_LEVEL: 'info',
    // as in every shipped deployment file
    ...ALLOCATOR_SETTINGS,
  };
  await once(
    startProcess('dist/src/operators/first-start.js', environment, join(folder, 'first.log')),
    'exit',
  );
  return {
    folder,
    environment,
    ownerUrl: postgres.ownerUrl,
    redisUrl: redis.redisUrl,
    redisPid: redis.pid,
    webhook,
    stop: async () => {
      await stopProcess(upstreams);
      await redis.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts API and worker on the services and opens the accounts of the customers. */
export async function startStack(services: SoakServices): Promise<SoakStack> {
  const { folder, environment } = services;
  const api = await startObserved('dist/src/server.js', environment, join(folder, 'api.log'));
  const worker = await startObserved('dist/workers/main.js', environment, join(folder, 'worker.log'));
  const url = `http://127.0.0.1:${environment.PORT}`;
  const keys = await openAccounts(url, ADMIN_TOKEN, ACCOUNTS);
  const database = new pg.Pool({ connectionString: services.ownerUrl, max: 2 });
  const redis = new Redis(services.redisUrl);
  const poorKey = await openPoorAccount(url);
  return {
    processes: [
      { name: 'api', pid: api.child.pid ?? 0, inspector: api.inspector },
      { name: 'worker', pid: worker.child.pid ?? 0, inspector: worker.inspector },
    ],
    url,
    adminToken: ADMIN_TOKEN,
    database,
    redis,
    folder,
    redisPid: services.redisPid,
    traffic: { url, adminToken: ADMIN_TOKEN, keys, poorKey, webhook: services.webhook },
    stop: async () => {
      api.inspector.close();
      worker.inspector.close();
      await Promise.all([stopProcess(api.child), stopProcess(worker.child)]);
      await database.end();
      redis.disconnect();
    },
  };
}

async function startObserved(
  script: string,
  environment: NodeJS.ProcessEnv,
  log: string,
): Promise<{ child: ChildProcess; inspector: Inspector }> {
  const port = await choosePort();
  const child = startProcess(script, environment, log, [`--inspect=127.0.0.1:${port}`]);
  await Promise.race([
    once(child, 'message', { signal: AbortSignal.timeout(INSPECTOR_WAIT_MS) }),
    once(child, 'exit').then(([code]) => {
      throw new Error(
        `${script} ended with ${code} before it was ready: ${readFileSync(log, 'utf8').slice(-2_000)}`,
      );
    }),
  ]);
  return { child, inspector: await Inspector.connect(port) };
}

async function openPoorAccount(url: string): Promise<string> {
  const answer = await fetch(`${url}/admin/v1/accounts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'poor', credits: '0.001' }),
  });
  return ((await answer.json()) as { key: string }).key;
}

/** Returns the catalog as JSON, which is valid YAML. */
function catalogOf(providers: Readonly<Record<string, string>>): string {
  const pricing = { prompt: '0.0000001', completion: '0.0000002' };
  const model = (id: string, routes: readonly string[]) => ({
    id: `soak/${id}`,
    endpoints: ['chat', 'messages'],
    input_modalities: ['text', 'image'],
    image_tokens: 2_000,
    context_length: 128_000,
    max_output_tokens: 4_096,
    pricing,
    routes: routes.map((provider) => ({ provider, model: 'simulated' })),
  });
  return JSON.stringify({
    providers: Object.entries(providers).map(([id, url]) => ({
      id,
      protocol: id === 'anthropic' ? 'anthropic' : 'openai',
      base_url: url,
      api_key: 'none',
    })),
    models: [
      ...Object.keys(providers).map((id) => model(id, [id])),
      model('fallback', ['server_error', 'openai']),
      {
        id: 'image-turbo',
        endpoints: ['image'],
        pricing: { request: '0.0001' },
        routes: [{ engine: 'local', model: 'builtin-image' }],
      },
      {
        id: 'video-fast',
        endpoints: ['video'],
        pricing: { request: '0.001' },
        routes: [{ engine: 'local', model: 'builtin-video' }],
      },
    ],
    engines: [{ id: 'local', kind: 'builtin' }],
    limits: { requests_per_minute: 10_000_000, tokens_per_minute: 10_000_000_000, concurrency: 10_000 },
  });
}
