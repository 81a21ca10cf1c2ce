import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { modelRules } from '../../src/invocation/dialects/model-rules.ts';
import { translateRequest } from '../../src/invocation/dialects/translate-request.ts';
import { atOnce } from '../../src/lib/steps.ts';
import { knownMembersOf } from '../../src/providers/known-members.ts';
import { thinkingCapOf } from '../../src/providers/thinking-cap.ts';
import { groqsRefusal, makersRefusal } from '../factories/makers-refusal.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/**
 * Models of other makers get thinking, efforts, tools and earlier reasoning as their makers' own servers accept them. The upstream rejects
 * as these do.
 */

const NAMES = [
  'deepseek-v4-pro',
  'deepseek-flash',
  'kimi-k2.6',
  'kimi-k2.7-code',
  'kimi-k3',
  'glm-4.6',
  'glm-5.2',
  'glm-5.3-flash',
  'zai-glm-4.7',
  'openai/gpt-oss-120b',
  'gemini-2.5-flash',
  'gemini-3.1-pro-preview',
  'grok-4-fast-reasoning',
  'grok-4.3',
  'grok-4.5',
  'grok-4.6',
  'grok-build',
  'mistral-small-2603',
  'mistral-large-latest',
  'MiniMax-M2.7',
  'MiniMax-M3',
  'Qwen/Qwen3.6-27B',
  'mistralai/Ministral-3-8B-Instruct-2512',
  'google/gemma-3-27b-it',
  'swiss-ai/apertus-70b',
  'meta-llama/Llama-3.3-70B-Instruct',
  'moonshotai/kimi-k3',
  'deepseek-ai/deepseek-v4.1',
  'tencent/hy3',
  'deepseek-v4:671b-cloud',
] as const;

const STRICT = ['strict/nvidia', 'strict/databricks', 'strict/azure', 'strict/fireworks'];

let upstream: UpstreamServer;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  upstream = await startOpenAiUpstream();
  gateway = await Gateway.start({
    providers: [{ id: 'maker', protocol: 'openai', base_url: upstream.url }],
    models: [...NAMES, ...STRICT, 'strict/schemas', 'moonshotai/kimi-k2.6'].map((name) =>
      model(name, [{ provider: 'maker', model: name }], { supportedParameters: ['reasoning'] }),
    ),
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

beforeEach(() => upstream.reset());

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const HI = { role: 'user' as const, content: 'hello' };
const TOOL = { type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } };
const OTHER = { type: 'function' as const, function: { name: 'g', parameters: { type: 'object' } } };
const NAMED = { type: 'function', function: { name: 'f' } };

function calls(reasoning?: object) {
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
  return [
    HI,
    { role: 'assistant', content: null, tool_calls: [call], ...reasoning },
    { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
  ];
}

/** Returns the ignored parameters, or null. Rejects when the upstream does. */
async function chat(name: string, body: object): Promise<string | null> {
  const params = { model: name, messages: [HI], max_tokens: 4_000, ...body };
  const { response } = await openai.chat.completions
    .create({ ...(params as OpenAI.ChatCompletionCreateParams), stream: false })
    .withResponse();
  requireNoRefusal(name);
  return response.headers.get('x-ignored-parameters');
}

async function message(name: string, body: object): Promise<string | null> {
  const params = { model: name, messages: [HI], max_tokens: 4_000, ...body } as Anthropic.MessageCreateParams;
  const { response } = await anthropic.messages.create({ ...params, stream: false }).withResponse();
  requireNoRefusal(name);
  return response.headers.get('x-ignored-parameters');
}

/** The gateway has to know what these take, and not to learn it from a rejection. */
function requireNoRefusal(name: string): void {
  if (!name.startsWith('strict/')) {
    expect(upstream.refusals).toEqual([]);
  }
}

const sent = () => upstream.last.body;

/** Every combination of one value for each name. A value that is undefined leaves the member out. */
function combinations(values: Readonly<Record<string, readonly unknown[]>>): object[] {
  return Object.entries(values).reduce<object[]>(
    (all, [name, some]) =>
      all.flatMap((one) => some.map((value) => (value === undefined ? one : { ...one, [name]: value }))),
    [{}],
  );
}

const SETTINGS = [
  {},
  ...['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'].map((reasoning_effort) => ({
    reasoning_effort,
  })),
  { reasoning: { enabled: false } },
  { reasoning: { effort: 'high' } },
  { thinking: { type: 'disabled' } },
  { thinking: { type: 'enabled' } },
];

test.each(NAMES)('every setting of thinking, tools and history of a chat reaches %s', async (name) => {
  const bodies = combinations({
    tool_choice: [undefined, 'required', NAMED],
    messages: [[HI], calls(), calls({ reasoning: 'hm' })],
  });
  for (const settings of SETTINGS) {
    await Promise.all(bodies.map((body) => chat(name, { tools: [TOOL, OTHER], ...body, ...settings })));
  }
  await chat(name, { temperature: 0, top_p: 0.5, top_k: 5, presence_penalty: 0.5, frequency_penalty: 0.5 });
});

test.each(NAMES)('every setting of thinking, tools and history of a message reaches %s', async (name) => {
  const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny' };
  const history = (...before: object[]) => [
    HI,
    { role: 'assistant', content: [...before, use] },
    { role: 'user', content: [result] },
  ];
  const bodies = combinations({
    thinking: [undefined, { type: 'enabled', budget_tokens: 2_000 }, { type: 'disabled' }],
    output_config: [undefined, { effort: 'low' }, { effort: 'max' }],
    tool_choice: [undefined, { type: 'any' }, { type: 'tool', name: 'f' }],
  });
  const tools = ['f', 'g'].map((one) => ({ name: one, input_schema: { type: 'object' } }));
  for (const messages of [[HI], history(), history({ type: 'thinking', thinking: 'hm', signature: '' })]) {
    await Promise.all(bodies.map((body) => message(name, { tools, messages, ...body })));
  }
});

const SCHEMA = { type: 'object', properties: { sky: { type: 'string' } } };
const BY_SCHEMA = { type: 'json_schema', json_schema: { name: 'weather', schema: SCHEMA } };
const FORMATS = [{ type: 'text' }, { type: 'json_object' }, BY_SCHEMA];
const IN_JSON = { role: 'user' as const, content: 'the weather as json' };

test.each(NAMES)('every format of an answer reaches %s', async (name) => {
  for (const response_format of FORMATS) {
    await Promise.all(
      SETTINGS.map((settings) => chat(name, { messages: [IN_JSON], response_format, ...settings })),
    );
  }
  const format = { type: 'json_schema', schema: SCHEMA };
  for (const thinking of [undefined, { type: 'adaptive' }, { type: 'disabled' }]) {
    await message(name, { thinking, output_config: { format, effort: 'low' } });
    await message(name, { thinking, output_config: { format } });
  }
});

const SAID = `Answer with one valid JSON object and nothing else. It must fit this JSON Schema:\n${JSON.stringify(SCHEMA)}`;

test('gives a schema in words where the server takes none, and says so', async () => {
  expect(await chat('deepseek-flash', { response_format: BY_SCHEMA })).toBe('response_format');
  expect(sent()).toMatchObject({
    response_format: { type: 'json_object' },
    messages: [{ role: 'system', content: SAID }, HI],
  });
  const instructions = { role: 'system', content: 'Be brief.' };
  await chat('glm-5.2', { messages: [instructions, HI], response_format: BY_SCHEMA });
  expect(sent().messages).toEqual([{ role: 'system', content: `Be brief.\n\n${SAID}` }, HI]);
  const parts = [{ type: 'text', text: 'Be brief.' }];
  await chat('deepseek-flash', {
    messages: [{ role: 'system', content: parts }, HI],
    response_format: BY_SCHEMA,
  });
  expect(sent().messages[0].content).toEqual([...parts, { type: 'text', text: SAID }]);
  const output_config = { format: { type: 'json_schema', schema: SCHEMA } };
  expect(await message('deepseek-flash', { output_config })).toBe('output_config.format');
  expect(sent().messages[0]).toEqual({ role: 'system', content: SAID });
  const byObject = { messages: [IN_JSON], response_format: { type: 'json_object' } };
  expect(await chat('deepseek-flash', byObject)).toBeNull();
  expect(sent()).toMatchObject(byObject);
  expect(await chat('kimi-k2.6', { response_format: BY_SCHEMA })).toBeNull();
  expect(sent()).toMatchObject({ response_format: BY_SCHEMA, messages: [HI] });
});

test('turns thinking off where it keeps a tool from being forced, and says what the caller loses', async () => {
  const forced = { tools: [TOOL], tool_choice: NAMED };
  expect(await chat('deepseek-v4-pro', forced)).toBeNull();
  expect(sent()).toMatchObject({ thinking: { type: 'disabled' }, tool_choice: NAMED });
  expect(await chat('deepseek-v4-pro', { ...forced, reasoning_effort: 'high' })).toBe('reasoning_effort');
  expect(sent()).not.toHaveProperty('reasoning_effort');
  await chat('deepseek-v4-pro', { tools: [TOOL], tool_choice: 'auto', reasoning_effort: 'high' });
  expect(sent()).toMatchObject({ reasoning_effort: 'high' });
  expect(sent()).not.toHaveProperty('thinking');
});

test('asks in words for a call that cannot be forced, and says so', async () => {
  const forced = { tools: [TOOL, OTHER], tool_choice: NAMED };
  expect(await chat('glm-5.2', forced)).toBe('tool_choice');
  expect(sent()).toMatchObject({
    tool_choice: 'auto',
    messages: [{ role: 'user', content: 'hello\n\nAnswer with a call of the tool "f".' }],
  });
  expect(await chat('glm-5.2', { ...forced, messages: calls() })).toBe('tool_choice');
  expect(sent().messages[3]).toEqual({
    role: 'user',
    content: 'Answer with a call of the tool "f".',
  });
  expect(await chat('kimi-k3', forced)).toBe('tool_choice');
  expect(sent()).toMatchObject({ tool_choice: 'required' });
  expect(await chat('kimi-k3', { ...forced, tools: [TOOL] })).toBeNull();
  expect(sent()).toMatchObject({ tool_choice: 'required', messages: [HI] });
});

test('turns thinking off when asked to, or down where it stays on', async () => {
  for (const off of [{ reasoning_effort: 'none' }, { reasoning: { enabled: false } }]) {
    expect(await chat('kimi-k2.6', off)).toBeNull();
    expect(sent()).toMatchObject({ thinking: { type: 'disabled' } });
    expect(await chat('gemini-2.5-flash', off)).toBeNull();
    expect(sent()).toMatchObject({ reasoning_effort: 'none' });
    expect(await chat('glm-5.3-flash', off)).toBe(Object.keys(off)[0]);
    expect(sent()).toMatchObject({ reasoning_effort: 'low' });
  }
  expect(await message('deepseek-v4-pro', { thinking: { type: 'disabled' } })).toBeNull();
  expect(sent()).toMatchObject({ thinking: { type: 'disabled' } });
  expect(await message('kimi-k3', { thinking: { type: 'disabled' } })).toBe('thinking');
  expect(sent()).toMatchObject({ reasoning_effort: 'low' });
});

test.each([
  ['kimi-k3', 'medium', 'low'],
  ['kimi-k3', 'max', 'max'],
  ['glm-5.3-flash', 'minimal', 'low'],
  ['gemini-3.1-pro-preview', 'max', 'high'],
  ['mistral-small-2603', 'low', 'high'],
  ['deepseek-v4-pro', 'max', 'max'],
  ['openai/gpt-oss-120b', 'xhigh', 'high'],
  ['openai/gpt-oss-120b', 'minimal', 'low'],
  ['zai-glm-4.7', 'max', 'high'],
  ['grok-4.5', 'max', 'high'],
  ['grok-4.6', 'max', 'xhigh'],
  ['zai-glm-4.7', 'none', 'none'],
  ['moonshotai/kimi-k3', 'medium', 'low'],
  ['deepseek-ai/deepseek-v4.1', 'xhigh', 'high'],
  ['tencent/hy3', 'max', 'high'],
  ['deepseek-v4:671b-cloud', 'max', 'high'],
])('%s gets for the effort %s the effort %s', async (name, asked, given) => {
  expect(await chat(name, { reasoning_effort: asked })).toBeNull();
  expect(sent()).toMatchObject({ reasoning_effort: given });
  if (asked !== 'minimal' && name !== 'deepseek-v4-pro') {
    await message(name, { thinking: { type: 'adaptive' }, output_config: { effort: asked } });
    expect(sent()).toMatchObject({ reasoning_effort: given });
  }
});

test.each(NAMES)('instructions anywhere in a conversation reach %s', async (name) => {
  const brief = { role: 'developer' as const, content: 'Be brief.' };
  const agent = { role: 'system' as const, content: 'You are an agent.' };
  const [asked, called, result] = calls({ reasoning: 'hm' });
  for (const messages of [
    [agent, brief, HI],
    [agent, HI, brief],
    [agent, asked, called, brief, result, brief],
    [agent, HI, HI, asked, called, result, HI, brief],
  ]) {
    await chat(name, { messages, tools: [TOOL] });
    expect(JSON.stringify(sent().messages)).toContain('Be brief.');
  }
  const system = { role: 'system', content: 'Be brief.' };
  await message(name, { system: 'You are an agent.', messages: [HI, system] });
  const input = [{ role: 'developer' as const, content: 'Here is a folder.' }, HI, brief];
  await openai.responses.create({ model: name, instructions: 'You are an agent.', input });
  expect(JSON.stringify(sent().messages)).toMatch(/You are an agent.*Here is a folder.*hello.*Be brief/);
});

test.each(NAMES)('every form of history and tools reaches %s', async (name) => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'sunny' });
  const reasoning = { reasoning: 'hm' };
  const both = { role: 'assistant', tool_calls: [call('call_1'), call('call_2')], ...reasoning };
  const histories = [
    [HI, { ...both, content: null }, result('call_1'), result('call_2')],
    [HI, { ...both, content: 'Looking.' }, result('call_2'), result('call_1'), HI],
    [HI, both, result('call_1'), result('call_2')],
    [
      HI,
      { ...both, tool_calls: [{ ...call('call_1'), function: { name: 'f', arguments: '{"a' } }] },
      result('call_1'),
    ],
    [HI, { role: 'assistant', content: null }, HI],
    [HI, { role: 'assistant' }, HI],
    [{ role: 'assistant', content: 'How can I help?' }, HI],
    [{ role: 'system', content: 'Be brief.' }, { role: 'assistant', content: 'How can I help?' }, HI],
    [HI, { role: 'assistant', content: 'The answer is' }],
  ];
  const list = { type: 'object', properties: { all: { type: 'array' } } };
  const parameters = [undefined, {}, { type: 'object' }, list];
  const tools = parameters.map((one, index) => ({
    type: 'function',
    function: { name: `f${index}`, parameters: one },
  }));
  for (const messages of histories) {
    await chat(name, { messages, tools });
    await chat(name, { messages });
  }
  const schemas = [{ type: 'object' }, list].map((input_schema, index) => ({
    name: `f${index}`,
    input_schema,
  }));
  const use = (id: string) => ({ type: 'tool_use', id, name: 'f0', input: {} });
  const used = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'sunny' });
  const thought = { type: 'thinking', thinking: 'hm', signature: '' };
  for (const messages of [
    [
      HI,
      { role: 'assistant', content: [thought, use('t1'), use('t2')] },
      { role: 'user', content: [used('t1'), used('t2')] },
    ],
    [HI, { role: 'assistant', content: 'The answer is' }],
  ]) {
    await message(name, { messages, tools: schemas });
  }
});

test('a Responses call reads what is left out by its own names', async () => {
  const format = { type: 'json_schema', name: 'answer', schema: { type: 'object' } } as const;
  const { response } = await openai.responses
    .create({ model: 'deepseek-v4-pro', input: 'answer in JSON', text: { format } })
    .withResponse();
  expect(response.headers.get('x-ignored-parameters')).toBe('text.format');
});

test('continues a history without its reasoning without thinking, or with a stand-in', async () => {
  expect(await chat('kimi-k2.6', { messages: calls() })).toBeNull();
  expect(sent()).toMatchObject({ thinking: { type: 'disabled' } });
  await chat('kimi-k2.6', { messages: calls({ reasoning: 'hm' }) });
  expect(sent()).not.toHaveProperty('thinking');
  expect(sent().messages[1]).toMatchObject({ reasoning_content: 'hm' });
  await chat('kimi-k3', { messages: calls() });
  expect(sent().messages[1]).toMatchObject({ reasoning_content: ' ' });
});

test('other companies serve the same models by their own rules', async () => {
  const body = { temperature: 0, tools: [TOOL], tool_choice: NAMED, reasoning_effort: 'none' };
  expect(await chat('moonshotai/kimi-k2.6', body)).toBeNull();
  expect(sent()).toMatchObject(body);
});

test.each(['qwen3.6-plus', 'qwen3-235b-a22b-thinking-2507', 'deepseek-v4-pro'])(
  'DashScope accepts every setting for %s',
  (name) => {
    const provider = {
      dialect: 'chat',
      requestDialect: 'chat',
      thinkingCap: thinkingCapOf({ base_url: 'https://dashscope.aliyuncs.com/compatible-mode/v1' }),
    } as const;
    const rules = modelRules({ provider: 'dashscope', model: name }, provider);
    for (const settings of SETTINGS) {
      const wishes = [
        ...['auto', 'required', NAMED].map((tool_choice) => ({ tools: [TOOL], tool_choice })),
        ...FORMATS.map((response_format) => ({ response_format })),
      ];
      for (const wish of wishes) {
        const body = { messages: [IN_JSON], ...wish, ...settings };
        const common = {
          from: 'chat',
          to: 'chat',
          maxOutputTokens: 4_000,
          reasoning: true,
          betas: [],
        } as const;
        const request = atOnce(translateRequest(body, { ...common, rules }));
        expect(makersRefusal({ ...request, model: name.replace('deepseek', 'qwen') })).toBeUndefined();
      }
    }
  },
);

test.each(['openai/gpt-oss-120b', 'qwen/qwen3.6-27b', 'meta-llama/llama-4-scout-17b-16e-instruct'])(
  'Groq accepts every effort for %s',
  (name) => {
    const knownMembers = knownMembersOf({ base_url: 'https://api.groq.com/openai/v1', pass_through: [] });
    const provider = { dialect: 'chat', requestDialect: 'chat', knownMembers } as const;
    const rules = modelRules({ provider: 'groq', model: name }, provider);
    const common = { to: 'chat', maxOutputTokens: 4_000, reasoning: true, betas: [], rules } as const;
    const request = (body: object, from: 'chat' | 'messages') =>
      atOnce(translateRequest({ messages: [HI], ...body }, { ...common, from }));
    for (const effort of [undefined, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh']) {
      const sent = request({ reasoning_effort: effort }, 'chat');
      expect({ effort, refusal: groqsRefusal({ ...sent, model: name }) }).toEqual({ effort });
      // a model without thoughts, or whose thoughts are apart unasked, rejects the member
      const isApart = name.startsWith('qwen') && effort !== 'none';
      expect(sent.reasoning_format).toBe(isApart ? 'parsed' : undefined);
    }
    for (const thinking of [{ type: 'disabled' }, { type: 'enabled', budget_tokens: 2_000 }]) {
      expect(groqsRefusal({ ...request({ thinking }, 'messages'), model: name })).toBeUndefined();
    }
  },
);

test('Cerebras gets no effort for a model that does not think', () => {
  const knownMembers = knownMembersOf({ base_url: 'https://api.cerebras.ai/v1', pass_through: [] });
  const provider = { dialect: 'chat', requestDialect: 'chat', knownMembers } as const;
  const sent = (name: string) => {
    const rules = modelRules({ provider: 'cerebras', model: name }, provider);
    const common = { from: 'chat', to: 'chat', maxOutputTokens: 4_000, reasoning: true, betas: [] } as const;
    return atOnce(translateRequest({ messages: [HI], reasoning_effort: 'none' }, { ...common, rules }));
  };
  expect(sent('qwen-3-235b-a22b-instruct-2507')).not.toHaveProperty('reasoning_effort');
  expect(sent('zai-glm-4.7')).toHaveProperty('reasoning_effort', 'none');
});

test.each(STRICT)('members that %s does not know are left out, and named', async (name) => {
  const tools = [{ ...TOOL, function: { ...TOOL.function, strict: false } }];
  const wishes = { user: 'u', seed: 1, parallel_tool_calls: false, prompt_cache_key: 'k', tools };
  const left = await chat(name, wishes);
  expect(left?.split(', ').sort()).toEqual([
    'parallel_tool_calls',
    'prompt_cache_key',
    'seed',
    'tools[].function.strict',
    'user',
  ]);
  expect(Object.keys(sent()).sort()).toEqual(['max_tokens', 'messages', 'model', 'stream', 'tools']);
  expect(gateway.ledger.last).toMatchObject({
    metering: { ignored: expect.arrayContaining(['seed', 'user']) },
    attempts: [{ outcome: 'ok' }],
  });
  const metadata = { user_id: 'u' };
  expect(await message(name, { metadata, output_config: { effort: 'low' } })).toBe(
    'output_config.effort, metadata.user_id',
  );
});

test('a stream without its usage is asked for it once, and counted', async () => {
  const stream = async () => {
    const before = upstream.requests.length;
    const params = { model: 'strict/databricks', messages: [HI], max_tokens: 40 };
    const { usage } = await openai.chat.completions.stream({ ...params, stream: true }).finalChatCompletion();
    expect(usage?.completion_tokens).toBeGreaterThan(0);
    return upstream.requests.length - before;
  };
  expect(await stream()).toBe(2);
  expect(await stream()).toBe(1);
  expect(gateway.ledger.last).toMatchObject({ status: 'completed', usageSource: 'counted' });
});

test('loosens the schemas of tools for a server that knows fewer keywords, and says so', async () => {
  const schema = { type: 'object' as const, properties: { n: { type: 'integer', exclusiveMinimum: 0 } } };
  const tool = { type: 'function', function: { name: 'f', description: 'd', parameters: schema } };
  expect(await chat('strict/schemas', { tools: [tool] })).toBe('tools[].function.parameters');
  const loosened = {
    type: 'object',
    properties: { n: { type: 'integer', description: '{exclusiveMinimum: 0}' } },
  };
  expect(sent().tools[0].function.parameters).toEqual(loosened);
  const messagesTool = { name: 'f', description: 'd', input_schema: schema };
  expect(await message('strict/schemas', { tools: [messagesTool] })).toBe('tools[].input_schema');
  expect(sent().tools[0].function.parameters).toEqual(loosened);
  expect(upstream.requests).toHaveLength(4);
});
