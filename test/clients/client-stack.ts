import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { choosePort } from '../../ops/embedded/free-port.ts';
import { ProductProcess } from '../chaos/product-process.ts';
import { createDatabase } from '../chaos/services.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { ledgerViolations } from '../setup/database.ts';
import { startTestServices } from '../setup/test-services.ts';
import type { TokenTotals } from './agent.types.ts';
import { startScriptedModels } from './scripted-model.ts';

const PRODUCT = fileURLToPath(new URL('../..', import.meta.url));
const ADMIN_TOKEN = 'admin-token-of-the-runs-with-agents';

/** A model by the protocol of the provider behind it; one name is ours, one is that of a Claude. */
export const MODELS = { openai: 'acme/coder', anthropic: 'acme/claude' } as const;
export const CONTEXT_LENGTH = 200_000;

/** The compiled API on services of its own, with two providers that play models. */
export interface AgentStack {
  readonly url: string;
  readonly folder: string;
  readonly upstreams: Readonly<Record<keyof typeof MODELS, UpstreamServer>>;
  /** The key of a new account. */
  openAccount(credits: string): Promise<string>;
  /** What the account of a key was metered for, once nothing is held any more. */
  metered(key: string): Promise<TokenTotals>;
  /** Rows that the invariants of the ledger find wrong; none while the books are right. */
  violations(): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startAgentStack(): Promise<AgentStack> {
  const services = await startTestServices(process.env);
  const { folder } = services;
  const database = await createDatabase(services.postgres.ownerUrl, services.postgres.databaseUrl);
  const upstreams = await startScriptedModels();
  const catalogFile = join(folder, 'tollgate.yaml');
  writeFileSync(catalogFile, catalogOf(upstreams));
  mkdirSync(join(folder, 'logs'), { recursive: true });
  const port = await choosePort();
  const environment = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    DATABASE_URL: database.url,
    REDIS_URL: services.redis.redisUrl,
    DATA_DIR: join(folder, 'data'),
    TOLLGATE_CONFIG: catalogFile,
    TOLLGATE_SECRET: 'a secret of the runs with agents, 32 letters',
    ADMIN_TOKEN,
    LOG_LEVEL: 'info',
    PORT: String(port),
  };
  const api = await ProductProcess.start(PRODUCT, 'src/server.js', [], environment, join(folder, 'api.log'));
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    folder,
    upstreams,
    openAccount: (credits) => openAccount(url, credits),
    metered: (key) => meteredBy(url, key),
    violations: () => violationsOf(database.ownerUrl),
    stop: async () => {
      await api.stop();
      await Promise.all([upstreams.openai.close(), upstreams.anthropic.close()]);
      await services.stop();
    },
  };
}

async function openAccount(url: string, credits: string): Promise<string> {
  const response = await fetch(`${url}/admin/v1/accounts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'agents', credits }),
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

async function violationsOf(ownerUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    return (await ledgerViolations(client)).map((row) => `${row.invariant} ${row.object}: ${row.detail}`);
  } finally {
    await client.end();
  }
}

/** JSON is YAML. */
function catalogOf(upstreams: Readonly<Record<keyof typeof MODELS, UpstreamServer>>): string {
  const protocols = ['openai', 'anthropic'] as const;
  return JSON.stringify({
    providers: protocols.map((protocol) => ({
      id: protocol,
      protocol,
      base_url: upstreams[protocol].url,
      api_key: 'none',
    })),
    models: protocols.map((protocol) => ({
      id: MODELS[protocol],
      endpoints: ['chat', 'messages'],
      context_length: CONTEXT_LENGTH,
      max_output_tokens: 32_000,
      pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000001' },
      supported_parameters: ['reasoning_effort', 'tools'],
      routes: [{ provider: protocol, model: protocol === 'openai' ? 'gpt-5' : 'claude-opus-4-8' }],
    })),
  });
}
