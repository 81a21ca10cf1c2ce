import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findFfmpeg } from '../../ops/embedded/ffmpeg.ts';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { ProductProcess } from '../chaos/product-process.ts';
import { createDatabase } from '../chaos/services.ts';
import { ledgerViolations } from '../setup/database.ts';
import { startTestServices, type TestServices } from '../setup/test-services.ts';

const PRODUCT = fileURLToPath(new URL('../..', import.meta.url));
const ADMIN_TOKEN = 'admin-token-of-the-runs-with-clients';

/** Token totals: `input` includes cached tokens. */
export interface TokenTotals {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
}

/** The compiled product on its own services, for clients that run as separate programs. */
export interface ClientStack {
  readonly url: string;
  readonly folder: string;
  /** Opens an account and returns its key. */
  openAccount(credits: string): Promise<string>;
  /** Returns the metered usage of a key's account, once it has no holds. */
  metered(key: string): Promise<TokenTotals>;
  /** Returns the number of calls of a model that a key's account was charged for. */
  chargedCalls(key: string, model: string): Promise<number>;
  /** Returns the rows that violate ledger invariants; none when the books are right. */
  violations(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Starts an API process and, when images are ordered, a worker. The catalog may be an object, because JSON is valid YAML. */
export async function startClientStack(
  catalog: object | string,
  { worker = false }: { readonly worker?: boolean } = {},
): Promise<ClientStack> {
  const services = await startTestServices(process.env);
  const { folder } = services;
  const database = await createDatabase(services.postgres.ownerUrl, services.postgres.databaseUrl);
  const catalogFile = join(folder, 'tollgate.yaml');
  writeFileSync(catalogFile, typeof catalog === 'string' ? catalog : JSON.stringify(catalog));
  const port = await choosePort();
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    ...environmentOf(services, database.url, catalogFile),
    PORT: String(port),
    PUBLIC_URL: url,
  };
  const start = (script: string, log: string) =>
    ProductProcess.start(PRODUCT, script, [], environment, join(folder, log));
  const processes = [
    await start('src/server.js', 'api.log'),
    ...(worker ? [await start('workers/main.js', 'worker.log')] : []),
  ];
  return {
    url,
    folder,
    openAccount: (credits) => openAccount(url, credits),
    metered: (key) => meteredBy(url, key),
    chargedCalls: (key, model) => chargedCalls(url, key, model),
    violations: () => violationsOf(database.ownerUrl),
    stop: async () => {
      await Promise.all(processes.map((running) => running.stop()));
      await services.stop();
    },
  };
}

function environmentOf(services: TestServices, databaseUrl: string, catalogFile: string) {
  const { ffmpeg, ffprobe } = findFfmpeg(process.env);
  mkdirSync(join(services.folder, 'logs'), { recursive: true });
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    FFMPEG_PATH: ffmpeg,
    FFPROBE_PATH: ffprobe,
    DATABASE_URL: databaseUrl,
    REDIS_URL: services.redis.redisUrl,
    DATA_DIR: join(services.folder, 'data'),
    TOLLGATE_CONFIG: catalogFile,
    TOLLGATE_SECRET: 'a secret of the runs with clients, 32 letters',
    ADMIN_TOKEN,
    LOG_LEVEL: 'info',
  };
}

async function openAccount(url: string, credits: string): Promise<string> {
  const response = await fetch(`${url}/admin/v1/accounts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'clients', credits }),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`opening an account: ${response.status} ${text}`);
  }
  return (JSON.parse(text) as { key: string }).key;
}

async function meteredBy(url: string, key: string): Promise<TokenTotals> {
  const response = await fetch(`${url}/api/v1/usage`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await response.json()) as { data: readonly Record<string, number>[] };
  const sum = (name: string) => data.reduce((total, row) => total + (row[name] ?? 0), 0);
  return { input: sum('input_tokens'), output: sum('output_tokens'), cacheRead: sum('cache_read_tokens') };
}

async function chargedCalls(url: string, key: string, model: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/generations?model=${encodeURIComponent(model)}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { data } = (await response.json()) as { data: readonly { charged_amount: string }[] };
  return data.filter(({ charged_amount }) => Number(charged_amount) > 0).length;
}

async function violationsOf(ownerUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    return (await ledgerViolations(client)).map((row) => `${row.invariant} ${row.object}: ${row.detail}`);
  } finally {
    await client.end();
  }
}
