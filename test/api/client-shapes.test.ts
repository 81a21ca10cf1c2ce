import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { type OperatorServer, startOperatorServer } from '../operators/support/operator-server.ts';
import { CLIENT_SHAPES, type ClientShape } from './client-shapes.ts';

const PROTOCOLS = ['openai', 'anthropic'] as const;
type Protocol = (typeof PROTOCOLS)[number];

const CONTEXT_LENGTH = 4_000;
const TEXT_CALLS = CLIENT_SHAPES.filter(({ body }) => body.model === undefined);

let folder: string;
let upstreams: Readonly<Record<Protocol, UpstreamServer>>;
let server: OperatorServer;
let keys: Readonly<Record<'rich' | 'poor' | 'wrong', string>>;

beforeAll(async () => {
  upstreams = { openai: await startOpenAiUpstream(), anthropic: await startAnthropicUpstream() };
  folder = temporaryFolder('shapes');
  const catalog = join(folder, 'tollgate.yaml');
  await writeFile(catalog, JSON.stringify(catalogOf()));
  server = await startOperatorServer({ redisDatabase: 14, environment: { TOLLGATE_CONFIG: catalog } });
  const secretOf = async (credits: string) => {
    const { id } = await createAccount(server.foundation.cells.sole, { credits });
    return (await createKey(server.foundation.cells.sole, id, { role: 'inference' })).secret;
  };
  keys = { rich: await secretOf('100'), poor: await secretOf('0'), wrong: 'sk-or-v1-0123456789abcdef' };
});

afterAll(async () => {
  await server?.close();
  await Promise.all(Object.values(upstreams ?? {}).map((upstream) => upstream.close()));
});

function catalogOf(): object {
  return {
    providers: [
      ...PROTOCOLS.map((protocol) => ({
        id: protocol,
        protocol,
        base_url: upstreams[protocol].url,
        api_key: 'none',
      })),
      { id: 'builtin', protocol: 'builtin' },
    ],
    models: [
      ...PROTOCOLS.map((protocol) => ({
        id: `acme/${protocol}`,
        endpoints: ['chat', 'messages'],
        context_length: CONTEXT_LENGTH,
        max_output_tokens: 2_000,
        pricing: { prompt: '0.000001', completion: '0.000002', input_cache_read: '0.0000001' },
        input_modalities: ['text', 'image'],
        image_tokens: 1_000,
        supported_parameters: ['tools', 'reasoning'],
        routes: [{ provider: protocol, model: protocol === 'openai' ? 'gpt-4o' : 'claude-sonnet-4-5' }],
      })),
      {
        id: 'vectors',
        endpoints: ['embeddings'],
        context_length: CONTEXT_LENGTH,
        pricing: { prompt: '0.000001' },
        routes: [{ provider: 'builtin', model: 'builtin-embed' }],
      },
    ],
  };
}

interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function send(shape: ClientShape, key: string, body: object): Promise<Told> {
  const response = await fetch(server.url + shape.path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(shape.path === '/v1/messages' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }),
      ...shape.headers,
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Returns the `data` of every frame except the terminator of a chat stream. */
// biome-ignore lint/suspicious/noExplicitAny: answers of three dialects
function framesOf(text: string): any[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data));
}

/** Returns the usage that a client reads: the latest values, merged over earlier ones as SDKs do for streams of messages. */
function usageOf({ text, headers }: Told): unknown {
  if (!headers.get('content-type')?.includes('event-stream')) {
    return JSON.parse(text).usage;
  }
  const told = framesOf(text).map((frame) => frame.usage ?? frame.message?.usage ?? frame.response?.usage);
  return Object.assign({}, ...told);
}

function ends({ body }: ClientShape, text: string): boolean {
  if (body.stream !== true) {
    return true;
  }
  const last = framesOf(text).at(-1).type;
  return last === undefined
    ? text.endsWith('data: [DONE]\n\n')
    : last === 'message_stop' || last === 'response.completed';
}

const shown = (shape: ClientShape) => [shape.client, shape.call, shape] as [string, string, ClientShape];

describe.each(PROTOCOLS)('through a provider that speaks %s', (protocol) => {
  test.each(CLIENT_SHAPES.map(shown))('%s: %s', async (_client, _call, shape) => {
    const upstream = upstreams[protocol];
    upstream.reset({ cacheRead: 5 });
    const told = await send(shape, keys.rich, { model: `acme/${protocol}`, ...shape.body });
    expect([told.status, told.status === 200 ? '' : told.text]).toEqual([200, '']);
    expect(ends(shape, told.text)).toBe(true);
    const ignored = told.headers.get('x-ignored-parameters')?.split(', ') ?? [];
    expect(ignored).toEqual(expect.arrayContaining([...(shape.told ?? [])]));
    if (protocol === 'openai' && shape.path !== '/v1/messages') {
      // OpenAI's own models reject marks of what to cache
      const marks = JSON.stringify(shape.body).includes('cache_control')
        ? ['messages[].content[].cache_control']
        : [];
      expect(ignored.sort()).toEqual([...(shape.told ?? []), ...marks].sort());
    }
    for (const path of shape.usage ?? []) {
      const value = path.split('.').reduce((at: unknown, name) => (at as never)?.[name], usageOf(told));
      expect([path, typeof value]).toEqual([path, 'number']);
    }
  });
});

const overflowing = (shape: ClientShape) => {
  const words = 'bit '.repeat(CONTEXT_LENGTH * 1.5);
  const [member] = Object.keys(shape.body).filter((name) => name === 'input' || name === 'messages');
  return { ...shape.body, [member!]: [{ role: 'user', content: words }] };
};

/** What agents look for in an error message before they shorten the conversation, taken from their source code. */
const OVERFLOW_SIGNS = {
  'Cline, OpenAI compatible': /context\s*(?:length|window)|maximum context/i,
  'Roo Code': /prompt\s*is\s*too\s*long|\bcontext\s*(?:length|window)\b/i,
  opencode: /prompt is too long|maximum context length is \d+ tokens/i,
  'litellm (aider)': /This model's maximum context length is/i,
  'Claude Code': /^prompt is too long/i,
};

test.each(TEXT_CALLS.map(shown))(
  '%s: %s: errors have the form that the client reads',
  async (_client, _call, shape) => {
    const model = 'acme/openai';
    const refusals = {
      wrong: await send(shape, keys.wrong, { model, ...shape.body }),
      poor: await send(shape, keys.poor, { model, ...shape.body }),
      unknown: await send(shape, keys.rich, { ...shape.body, model: 'acme/opena1' }),
      long: await send(shape, keys.rich, { model, ...overflowing(shape) }),
    };
    const seen = Object.fromEntries(
      Object.entries(refusals).map(([name, { status, headers, text }]) => {
        const { error } = JSON.parse(text);
        return [name, [status, error.code, error.type, headers.get('x-should-retry')]];
      }),
    );
    expect(seen).toEqual({
      wrong: [401, 'invalid_api_key', 'authentication_error', 'false'],
      poor: [402, 'insufficient_credits', 'billing_error', 'false'],
      unknown: [404, 'model_not_found', 'not_found_error', 'false'],
      long: [400, 'context_length_exceeded', 'invalid_request_error', 'false'],
    });
    const messageOf = (name: keyof typeof refusals) => JSON.parse(refusals[name].text).error.message;
    expect(messageOf('wrong')).toMatch(/API key/);
    expect(messageOf('poor')).toMatch(/^Insufficient credits: /);
    // aider matches the beginning and this end of the message, see its exceptions.py
    expect(messageOf('poor').endsWith(' {"code":402}')).toBe(/\/chat\/completions$/.test(shape.path));
    expect(messageOf('unknown')).toContain('Did you mean "acme/openai"?');
    for (const [agent, sign] of Object.entries(OVERFLOW_SIGNS)) {
      expect([agent, messageOf('long')]).toEqual([agent, expect.stringMatching(sign)]);
    }
  },
);

test.each([
  ['Open WebUI', '/api/v1/models', {}],
  ['Cline', '/api/v1/models', {}],
  ['n8n', '/api/v1/models', {}],
  ['Claude Code', '/v1/models?limit=1000', { 'anthropic-version': '2023-06-01' }],
])('%s finds the models', async (_client, path, headers) => {
  const response = await fetch(server.url + path, {
    headers: { authorization: `Bearer ${keys.rich}`, ...headers },
  });
  const list = (await response.json()) as { data: readonly { id: string }[] };
  expect(list.data.map(({ id }) => id)).toEqual(expect.arrayContaining(['acme/openai', 'acme/anthropic']));
});
