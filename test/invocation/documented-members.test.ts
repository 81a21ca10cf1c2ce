import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/**
 * `sent`: changes the request to the provider; `here`: handled by the gateway; `told`: listed in X-Ignored-Parameters; `refused`: 400
 * that says so.
 */
type Fate = 'sent' | 'here' | 'told' | 'refused';
type Members = Readonly<Record<string, readonly [value: unknown, fate: Fate]>>;

interface Endpoint {
  readonly path: string;
  readonly base: Readonly<Record<string, unknown>>;
  /** Interfaces of the installed SDKs that list what a caller may send. */
  readonly documented: readonly (readonly [file: string, type: string])[];
  readonly members: Members;
  readonly upstream: () => UpstreamServer | undefined;
}

/** Members that model routers accept in addition to those in the SDKs of model makers. */
const ROUTERS: Members = {
  plugins: [[{ id: 'web' }], 'refused'],
  preset: ['my-prompt', 'refused'],
  transforms: [['middle-out'], 'told'],
  route: ['fallback', 'told'],
  session_id: ['s', 'told'],
  trace: [{ trace_id: 't' }, 'told'],
};

const SAMPLING: Members = {
  temperature: [0.5, 'sent'],
  top_p: [0.5, 'sent'],
};

const TOOL = { type: 'function', function: { name: 'weather', parameters: { type: 'object' } } };

const CHAT: Members = {
  ...ROUTERS,
  models: [['to/anthropic'], 'here'],
  ...SAMPLING,
  audio: [{ voice: 'alloy', format: 'wav' }, 'refused'],
  cache_control: [{ type: 'ephemeral' }, 'told'],
  debug: [{ echo_upstream_body: true }, 'told'],
  frequency_penalty: [0.5, 'sent'],
  // without functions it has no effect
  function_call: [{ name: 'weather' }, 'told'],
  functions: [[TOOL.function], 'sent'],
  image_config: [{ aspect_ratio: '1:1' }, 'told'],
  logit_bias: [{ 5: 1 }, 'sent'],
  logprobs: [true, 'sent'],
  max_completion_tokens: [7, 'sent'],
  max_tokens: [7, 'sent'],
  metadata: [{ a: 'b' }, 'told'],
  min_p: [0.1, 'sent'],
  modalities: [['text', 'audio'], 'refused'],
  moderation: [{ type: 'auto' }, 'refused'],
  n: [2, 'refused'],
  // without tools it has no effect, like tool_choice
  parallel_tool_calls: [false, 'here'],
  prediction: [{ type: 'content', content: 'x' }, 'told'],
  presence_penalty: [0.5, 'sent'],
  prompt_cache_key: ['k', 'sent'],
  prompt_cache_options: [{ mode: 'explicit' }, 'told'],
  prompt_cache_retention: ['24h', 'told'],
  reasoning: [{ effort: 'low' }, 'sent'],
  reasoning_effort: ['low', 'sent'],
  repetition_penalty: [1.1, 'sent'],
  response_format: [{ type: 'json_object' }, 'sent'],
  safety_identifier: ['s', 'sent'],
  seed: [7, 'sent'],
  service_tier: ['priority', 'told'],
  stop: ['x', 'sent'],
  stop_server_tools_when: [[{ type: 'step_count', value: 1 }], 'told'],
  store: [true, 'told'],
  stream: [true, 'sent'],
  stream_options: [{ include_usage: true }, 'here'],
  tool_choice: ['none', 'here'],
  tools: [[TOOL], 'sent'],
  top_a: [0.1, 'sent'],
  top_k: [5, 'sent'],
  top_logprobs: [2, 'sent'],
  usage: [{ include: true }, 'here'],
  user: ['u', 'sent'],
  verbosity: ['low', 'sent'],
  web_search_options: [{}, 'refused'],
};

const MESSAGES: Members = {
  ...ROUTERS,
  models: [['to/openai'], 'refused'],
  ...SAMPLING,
  top_k: [5, 'sent'],
  betas: [['some-beta'], 'told'],
  billing_policy: [{ type: 'billing_policy', bill_to: 'self' }, 'told'],
  cache_control: [{ type: 'ephemeral' }, 'sent'],
  compaction: [{ type: 'auto' }, 'told'],
  container: ['c', 'refused'],
  context_management: [{ edits: [] }, 'told'],
  diagnostics: [{}, 'told'],
  fallback_credit_token: ['t', 'told'],
  fallbacks: [[{ model: 'other' }], 'refused'],
  inference_geo: ['us', 'refused'],
  mcp_servers: [[{ type: 'url', url: 'https://mcp.example', name: 'm' }], 'refused'],
  metadata: [{ user_id: 'u' }, 'sent'],
  output_config: [{ effort: 'low' }, 'sent'],
  output_format: [{ type: 'json_schema', schema: { type: 'object' } }, 'sent'],
  service_tier: ['auto', 'told'],
  speed: ['fast', 'refused'],
  stop_sequences: [['x'], 'sent'],
  stream: [true, 'sent'],
  system: ['be brief', 'sent'],
  thinking: [{ type: 'enabled', budget_tokens: 1_024 }, 'sent'],
  thread: [{ type: 'create' }, 'refused'],
  tool_choice: [{ type: 'none' }, 'here'],
  tools: [[{ name: 'weather', input_schema: { type: 'object' } }], 'sent'],
  user_profile_id: ['p', 'told'],
  workspace_id: ['w', 'told'],
  n: [2, 'told'],
};

const RESPONSES: Members = {
  ...ROUTERS,
  models: [['to/anthropic'], 'here'],
  ...SAMPLING,
  access_programs: [{ cyber: 'standard' }, 'told'],
  background: [true, 'refused'],
  background_options: [{ completion_window: 'soonest' }, 'told'],
  cache_control: [{ type: 'ephemeral' }, 'told'],
  context_management: [[{ type: 'compaction' }], 'told'],
  conversation: ['conv_1', 'refused'],
  debug: [{ echo_upstream_body: true }, 'told'],
  frequency_penalty: [0.5, 'told'],
  image: [{ context_compression: 'auto' }, 'told'],
  image_config: [{ aspect_ratio: '1:1' }, 'told'],
  include: [['message.output_text.logprobs'], 'told'],
  instructions: ['be brief', 'sent'],
  max_output_tokens: [7, 'sent'],
  max_tool_calls: [3, 'told'],
  metadata: [{ a: 'b' }, 'here'],
  modalities: [['text', 'image'], 'told'],
  moderation: [{ type: 'auto' }, 'refused'],
  // without tools it has no effect, like tool_choice
  parallel_tool_calls: [false, 'here'],
  presence_penalty: [0.5, 'told'],
  previous_response_id: ['resp_1', 'refused'],
  prompt: [{ id: 'p' }, 'refused'],
  prompt_cache_key: ['k', 'sent'],
  prompt_cache_options: [{ mode: 'explicit' }, 'told'],
  prompt_cache_retention: ['24h', 'told'],
  reasoning: [{ effort: 'low' }, 'sent'],
  safety_identifier: ['s', 'sent'],
  service_tier: ['priority', 'told'],
  stop_server_tools_when: [[{ type: 'step_count', value: 1 }], 'told'],
  // stateless either way, as every answer says
  store: [true, 'here'],
  stream: [true, 'sent'],
  stream_options: [{ include_obfuscation: false }, 'here'],
  text: [{ verbosity: 'low' }, 'sent'],
  tool_choice: ['none', 'here'],
  tools: [[{ type: 'function', name: 'weather', parameters: { type: 'object' } }], 'sent'],
  top_k: [5, 'told'],
  top_logprobs: [2, 'told'],
  truncation: ['auto', 'told'],
  user: ['u', 'sent'],
};

const EMBEDDINGS: Members = {
  ...ROUTERS,
  models: [['to/openai'], 'refused'],
  dimensions: [8, 'here'],
  encoding_format: ['base64', 'here'],
  user: ['u', 'here'],
  input_type: ['query', 'told'],
};

let openai: UpstreamServer;
let anthropic: UpstreamServer;
let gateway: Gateway;

const ENDPOINTS: readonly Endpoint[] = [
  {
    path: '/api/v1/chat/completions',
    base: { model: 'to/openai', messages: [{ role: 'user', content: 'hello' }] },
    documented: [
      ['openai/resources/chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase'],
      ['@openrouter/sdk/esm/models/chatrequest.d.ts', 'ChatRequest'],
    ],
    members: CHAT,
    upstream: () => openai,
  },
  {
    path: '/vendorx/v1/messages',
    base: { model: 'to/anthropic', max_tokens: 4_000, messages: [{ role: 'user', content: 'hello' }] },
    documented: [
      ['@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase'],
      ['@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', 'MessageCreateParamsBase'],
    ],
    members: MESSAGES,
    upstream: () => anthropic,
  },
  {
    path: '/api/v1/responses',
    base: { model: 'to/openai', input: 'hello' },
    documented: [
      ['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase'],
      ['@openrouter/sdk/esm/models/responsesrequest.d.ts', 'ResponsesRequest'],
    ],
    members: RESPONSES,
    upstream: () => openai,
  },
  {
    path: '/api/v1/embeddings',
    base: { model: 'vectors', input: 'hello' },
    documented: [
      ['openai/resources/embeddings.d.ts', 'EmbeddingCreateParams'],
      ['@openrouter/sdk/esm/models/operations/createembeddings.d.ts', 'CreateEmbeddingsRequestBody'],
    ],
    members: EMBEDDINGS,
    upstream: () => undefined,
  },
];

beforeAll(async () => {
  openai = await startOpenAiUpstream();
  anthropic = await startAnthropicUpstream();
  const embeddings = { endpoints: ['embeddings'], maxOutputTokens: 0 };
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: openai.url },
      { id: 'anthropic', protocol: 'anthropic', base_url: anthropic.url },
      { id: 'builtin', protocol: 'builtin' },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt' }], { supportedParameters: ['reasoning'] }),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }], {
        supportedParameters: ['reasoning'],
      }),
      model('vectors', [{ provider: 'builtin', model: 'builtin' }], embeddings),
    ],
  });
});

afterAll(async () => {
  await gateway?.close();
  await openai?.close();
  await anthropic?.close();
});

/** Returns the member names of an interface or a type, as sent on the wire. */
function membersOf([file, type]: readonly [string, string]): string[] {
  const text = readFileSync(join('node_modules', file), 'utf8');
  const declaration =
    new RegExp(`(?:interface|type) ${type}\\b[^{]*\\{(.*?)\\n\\}`, 's').exec(text)?.[1] ?? '';
  return [...declaration.matchAll(/^ {4}(\w+)\??:/gm)].map(([, name = '']) =>
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
}

interface Sent {
  readonly status: number;
  readonly text: string;
  readonly ignored: readonly string[];
  readonly upstream: unknown;
}

async function send(endpoint: Endpoint, more: object): Promise<Sent> {
  const upstream = endpoint.upstream();
  upstream?.reset();
  const response = await fetch(gateway.url + endpoint.path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...endpoint.base, ...more }),
  });
  const text = await response.text();
  const ignored = response.headers.get('x-ignored-parameters')?.split(', ') ?? [];
  return { status: response.status, text, ignored, upstream: upstream?.requests.at(-1)?.body };
}

const REFUSALS = /not supported here|only one answer per call|not stored here/;

function fateOf(name: string, sent: Sent, plain: Sent): Fate | string {
  if (sent.status === 400 && REFUSALS.test(sent.text)) {
    return 'refused';
  }
  if (sent.status !== 200) {
    return sent.text;
  }
  if (sent.ignored.some((path) => path === name || path.startsWith(`${name}.`))) {
    return 'told';
  }
  return JSON.stringify(sent.upstream) === JSON.stringify(plain.upstream) ? 'here' : 'sent';
}

describe.each(ENDPOINTS)('$path', (endpoint) => {
  test('lists every member that the SDKs document', () => {
    for (const source of endpoint.documented) {
      const documented = membersOf(source);
      expect(documented).toContain('model');
      const known = [...Object.keys(endpoint.members), ...Object.keys(endpoint.base), 'provider'];
      expect({ source, unlisted: documented.filter((name) => !known.includes(name)) }).toEqual({
        source,
        unlisted: [],
      });
    }
  });

  test('ignores no member silently', async () => {
    const plain = await send(endpoint, {});
    const fates: Record<string, string> = {};
    for (const [name, [value]] of Object.entries(endpoint.members)) {
      fates[name] = fateOf(name, await send(endpoint, { [name]: value }), plain);
    }
    expect(fates).toEqual(
      Object.fromEntries(Object.entries(endpoint.members).map(([name, [, fate]]) => [name, fate])),
    );
  });

  test.each([
    { only: ['openai'] },
    { ignore: ['openai'] },
    { quantizations: ['fp8'] },
    { max_price: { prompt: 1 } },
    { allow_fallbacks: false },
    { zdr: true },
    { enforce_distillable_text: true },
    { data_collection: 'deny' },
  ])('rejects restrictions on providers: %j', async (provider) => {
    const { status, text } = await send(endpoint, { provider });
    expect({ status, text }).toEqual({
      status: 400,
      text: expect.stringContaining(`provider.${Object.keys(provider)[0]}: is not supported here`),
    });
  });

  test('reports wishes for providers as ignored, and accepts members that ask for nothing', async () => {
    const wishes = { order: ['openai'], sort: 'price', require_parameters: true, allow_fallbacks: true };
    expect(await send(endpoint, { provider: wishes })).toMatchObject({ status: 200, ignored: ['provider'] });
    const nothing = { plugins: [{ id: 'web', enabled: false }], models: [endpoint.base.model], preset: null };
    expect((await send(endpoint, nothing)).status).toBe(200);
  });
});
