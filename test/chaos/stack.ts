import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { ProductProcess } from './product-process.ts';
import type { ChaosDatabase, ChaosServices } from './services.ts';

/** The admin token of a stack. */
export const ADMIN_TOKEN = 'admin-token-of-the-chaos-runs';

/** nano-USD per token of the simulated chat model. */
export const TOKEN_PRICE = { input: 1_000n, output: 2_000n };
export const CHAT_MODEL = 'chaos/chat';
export const IMAGE_MODEL = 'image-turbo';
/** Price of one image, in nano-USD. */
export const IMAGE_PRICE = 5_000_000n;

export interface StackOptions {
  readonly apis: number;
  /** The arguments of each worker. */
  readonly workers?: readonly (readonly string[])[];
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings for individual processes. */
  readonly settingsOf?: (member: StackMember) => Readonly<Record<string, string>>;
  /** Database URL of a process, to send it through a proxy. */
  readonly databaseUrl?: (url: string, member: StackMember) => string;
  /** Called with the database before any process starts on it. */
  readonly prepareDatabase?: (database: ChaosDatabase) => Promise<unknown>;
  /** Redis URL of the processes, to send them through a proxy. */
  readonly redisUrl?: (url: string) => string;
  /** Replaces routes, limits and prices of the catalog. */
  readonly catalog?: Partial<CatalogChoice>;
}

/** Identifies a process of a stack. */
export interface StackMember {
  readonly kind: 'api' | 'worker';
  readonly place: number;
}

export interface CatalogChoice {
  /** Routes of the chat model, in fallback order. */
  readonly routes: readonly string[];
  readonly concurrency: number;
  /** Engine pool slots of each worker. */
  readonly slots: number;
  /** Poll interval of a run on the engine, in ms; the run is done at the third poll. */
  readonly pollIntervalMs: number;
  /** URL of the pool's engine; the simulated engine by default. */
  readonly engineUrl: string;
}

/** An account with one key. */
export interface ChaosAccount {
  readonly id: string;
  readonly key: string;
}

/** API and worker processes on their own database. */
export interface ChaosStack {
  readonly database: ChaosDatabase;
  readonly urls: readonly string[];
  /** Paths of the sockets that the API processes listen on in addition to their ports. */
  readonly sockets: readonly string[];
  readonly apis: ProductProcess[];
  readonly workers: ProductProcess[];
  /** Kills a process with SIGKILL and starts a new one in its place. */
  replaceApi(place: number): Promise<void>;
  /** Replaces a worker likewise. New arguments, when given, apply from then on. */
  replaceWorker(place: number, args?: readonly string[]): Promise<void>;
  /** Sends SIGTERM, waits for the end, and starts a new process on the same port. Returns the exit code. */
  restartApi(place: number): Promise<number | null>;
  openAccount(credits: string): Promise<ChaosAccount>;
  /** Makes an operator call and returns the parsed body. */
  admin<T>(path: string, body?: unknown): Promise<T>;
  /** Ends every process with SIGTERM. Returns the exit codes. */
  stop(): Promise<(number | null)[]>;
}

/** Starts processes of the product. The caller must stop them. */
export async function startStack(services: ChaosServices, options: StackOptions): Promise<ChaosStack> {
  const database = await services.createDatabase();
  await options.prepareDatabase?.(database);
  const name = new URL(database.url).pathname.slice(1);
  const catalogFile = join(services.folder, `${name}.yaml`);
  writeFileSync(catalogFile, catalogOf(services, options.catalog ?? {}));
  const ports = await Promise.all(Array.from({ length: options.apis }, () => choosePort()));
  const sockets = ports.map((port) => join(services.folder, `api-${port}.sock`));
  const environment = (member: StackMember) =>
    environmentOf(services, database, catalogFile, member, options);
  const logOf = (kind: string) => join(services.folder, 'processes', `${name}-${kind}.log`);
  const startApi = (place: number) =>
    ProductProcess.start(
      services.product,
      'src/server.js',
      [],
      { ...environment({ kind: 'api', place }), PORT: String(ports[place]), LISTEN_SOCKET: sockets[place] },
      logOf(`api-${place}`),
    );
  const workerArguments = [...(options.workers ?? [])];
  const startWorker = (place: number) =>
    ProductProcess.start(
      services.product,
      'workers/main.js',
      workerArguments[place] ?? [],
      environment({ kind: 'worker', place }),
      logOf(`worker-${place}`),
    );
  const [apis, workers] = await Promise.all([
    Promise.all(ports.map((_, place) => startApi(place))),
    Promise.all(workerArguments.map((_, place) => startWorker(place))),
  ]);
  const urls = ports.map((port) => `http://127.0.0.1:${port}`);
  const replace = async (
    processes: ProductProcess[],
    place: number,
    start: (place: number) => Promise<ProductProcess>,
  ) => {
    await processes[place]?.kill();
    processes[place] = await start(place);
  };
  const admin = <T>(path: string, body?: unknown) => askOperator<T>(urls[0]!, path, body);
  return {
    database,
    urls,
    sockets,
    apis,
    workers,
    replaceApi: (place) => replace(apis, place, startApi),
    replaceWorker: (place, args) => {
      workerArguments[place] = args ?? workerArguments[place] ?? [];
      return replace(workers, place, startWorker);
    },
    restartApi: async (place) => {
      const code = (await apis[place]?.stop()) ?? null;
      apis[place] = await startApi(place);
      return code;
    },
    openAccount: async (credits) => {
      const body = { name: 'chaos', credits };
      const { data, key } = await admin<{ data: { id: string }; key: string }>('/admin/v1/accounts', body);
      return { id: data.id, key };
    },
    admin,
    stop: () => Promise.all([...apis, ...workers].map((running) => running.stop())),
  };
}

/** Returns a function that changes a database URL to another port of this machine. */
export function throughPort(port: number): (url: string) => string {
  return (url) => {
    const changed = new URL(url);
    changed.port = String(port);
    return changed.href;
  };
}

async function askOperator<T>(url: string, path: string, body: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  const response = await fetch(url + path, init);
  if (!response.ok) {
    throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
  return (await response.json()) as T;
}

function environmentOf(
  services: ChaosServices,
  database: ChaosDatabase,
  catalogFile: string,
  member: StackMember,
  { settings, settingsOf, databaseUrl, redisUrl }: StackOptions,
): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    FFMPEG_PATH: services.programs.ffmpeg,
    FFPROBE_PATH: services.programs.ffprobe,
    DATABASE_URL: databaseUrl?.(database.url, member) ?? database.url,
    REDIS_URL: redisUrl?.(services.redisUrl) ?? services.redisUrl,
    DATA_DIR: join(services.folder, new URL(database.url).pathname.slice(1)),
    TOLLGATE_CONFIG: catalogFile,
    TOLLGATE_SECRET: 'a secret of the chaos runs, 32 characters',
    ADMIN_TOKEN,
    LOG_LEVEL: 'warn',
    // each process is killed and replaced individually
    API_PROCESSES: '1',
    DRAIN_SECONDS: '20',
    ...settings,
    ...settingsOf?.(member),
  };
}

/** Returns the catalog as JSON, which is valid YAML. Prices are per token in USD, equal to {@link TOKEN_PRICE}. */
function catalogOf(
  { upstream, otherUpstream, engine }: ChaosServices,
  choice: Partial<CatalogChoice>,
): string {
  const provider = (id: string, base_url: string) => ({
    id,
    protocol: 'openai',
    base_url,
    api_key: 'none',
    on_disconnect: 'abort',
  });
  return JSON.stringify({
    providers: [provider('main', upstream.url), provider('other', otherUpstream.url)],
    models: [
      {
        id: CHAT_MODEL,
        endpoints: ['chat'],
        context_length: 32_000,
        max_output_tokens: 512,
        pricing: { prompt: '0.000001', completion: '0.000002' },
        routes: (choice.routes ?? ['main']).map((id) => ({ provider: id, model: 'simulated' })),
      },
      {
        id: IMAGE_MODEL,
        endpoints: ['image'],
        pricing: { request: '0.005' },
        routes: [{ engine: 'pool', model: 'simulated' }],
      },
    ],
    engines: [
      {
        id: 'pool',
        kind: 'sdcpp',
        base_url: choice.engineUrl ?? engine.url,
        slots: choice.slots ?? 16,
        poll_interval_ms: choice.pollIntervalMs ?? 50,
      },
    ],
    limits: {
      requests_per_minute: 10_000_000,
      tokens_per_minute: 10_000_000_000,
      concurrency: choice.concurrency ?? 100_000,
    },
  });
}
