import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { Script, UpstreamRequest, UpstreamServer } from '../factories/upstream-server.ts';
import { obedient } from './obedient-model.ts';

/** The dialect of a provider, which is the first part of its models' ids. */
export type Family = 'openai' | 'anthropic';

const CONTEXT_LENGTH = 100_000;
export const CACHED_TOKENS = 5;
/** The catalog of a first start, which the pages of the guide use. */
const SHIPPED_CATALOG = new URL('../../tollgate.yaml', import.meta.url);
const MANY_WORDS = Array.from({ length: 100 }, (_, index) => ` word${index}`);

/**
 * The behavior of a model, by the second part of its id. Each model has its own provider, so that the failures of one do not affect
 * another.
 */
const BEHAVIORS: Readonly<Record<string, Partial<Script>>> = {
  chat: {},
  structured: { words: ['{"city":', ' "Paris"}'] },
  cached: { cacheRead: CACHED_TOKENS },
  limited: { fault: 'rate_limit', retryAfter: '1' },
  failing: { fault: 'server_error' },
  breaking: { fault: 'reset_mid_stream', tokenDelayMs: 20 },
  patient: { words: MANY_WORDS, tokenDelayMs: 50 },
  slow: { words: MANY_WORDS, tokenDelayMs: 50 },
  // a client with a timeout of one second retries while the first call is still running
  late: { tokenDelayMs: 180 },
  obedient: { adapt: obedient },
  varied: { adapt: varied },
};

/** Returns as many words and cached tokens as the question asks for. */
function varied({ body }: UpstreamRequest): Partial<Script> {
  const [words = 1, cacheRead = 0] = JSON.stringify(body.messages.at(-1)).match(/\d+/g)?.map(Number) ?? [];
  return { words: MANY_WORDS.concat(MANY_WORDS).slice(0, words), cacheRead };
}

export interface SimulatedModels {
  readonly catalog: object;
  /** Returns the provider behind a model. */
  providerOf(family: Family, behaviour: string): UpstreamServer;
  close(): Promise<void>;
}

/** Starts providers of both dialects, one for each behavior. The caller must close them. */
export async function startSimulatedModels(): Promise<SimulatedModels> {
  const start = { openai: startOpenAiUpstream, anthropic: startAnthropicUpstream };
  const servers = new Map<string, UpstreamServer>();
  for (const family of ['openai', 'anthropic'] as const) {
    for (const [behaviour, script] of Object.entries(BEHAVIORS)) {
      const server = await start[family]();
      server.reset(script);
      servers.set(`${family}/${behaviour}`, server);
    }
  }
  return {
    catalog: catalogOf(servers),
    providerOf: (family, behaviour) => servers.get(`${family}/${behaviour}`)!,
    close: async () => {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}

function catalogOf(servers: ReadonlyMap<string, UpstreamServer>): object {
  const all = [...servers].map(([id, server]) => ({ id, server, name: id.replace('/', '-') }));
  const shipped = parse(readFileSync(SHIPPED_CATALOG, 'utf8')) as {
    providers: object[];
    models: object[];
  };
  return {
    ...shipped,
    providers: [
      ...shipped.providers,
      ...all.map(({ id, name, server }) => ({
        id: name,
        protocol: id.split('/')[0],
        base_url: server.url,
        on_disconnect: 'abort',
        api_key: 'none',
      })),
    ],
    models: [
      ...shipped.models,
      ...all.map(({ id, name }) => ({
        id,
        endpoints: ['chat', 'messages'],
        context_length: CONTEXT_LENGTH,
        max_output_tokens: 32_000,
        pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000001' },
        supported_parameters: ['tools', 'response_format', 'structured_outputs'],
        routes: [{ provider: name, model: id.startsWith('openai') ? 'gpt-4o' : 'claude-haiku-4-5' }],
      })),
    ],
  };
}
