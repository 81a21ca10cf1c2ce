import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

let openaiUpstream: UpstreamServer;
let anthropicUpstream: UpstreamServer;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

const AZURE = {
  id: 'azure',
  protocol: 'openai',
  api_key: 'azure-key',
  api_key_header: 'api-key',
  query: { 'api-version': '2024-10-21' },
  headers: { 'x-extra': 'yes' },
  max_tokens_field: 'max_completion_tokens',
  developer_role: 'developer',
  stream_usage: false,
};

beforeAll(async () => {
  openaiUpstream = await startOpenAiUpstream();
  anthropicUpstream = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: openaiUpstream.url, api_key: 'upstream-key' },
      { id: 'anthropic', protocol: 'anthropic', base_url: anthropicUpstream.url, api_key: 'upstream-key' },
      { ...AZURE, base_url: openaiUpstream.url },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt' }]),
      model('to/reasoning', [{ provider: 'openai', model: 'o' }], { supportedParameters: ['reasoning'] }),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }]),
      model('to/azure', [{ provider: 'azure', model: 'deployment' }]),
    ],
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

beforeEach(() => {
  openaiUpstream.reset();
  anthropicUpstream.reset();
});

afterAll(async () => {
  await gateway?.close();
  await openaiUpstream?.close();
  await anthropicUpstream?.close();
});

const ASK = [{ role: 'user' as const, content: 'hello' }];
const TOOL = { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } };

test("rejects a thread of Anthropic's SDK at its first turn, before any money is held", async () => {
  const thread = anthropic.beta.messages.thread({ model: 'to/anthropic', max_tokens: 9 });
  await expect(thread.send({ role: 'user', content: 'hello' })).rejects.toThrow(
    /^400 .*thread: conversations are not stored here; send all messages with every call/,
  );
  const runner = anthropic.beta.messages.toolRunner({
    model: 'to/anthropic',
    max_tokens: 9,
    messages: ASK,
    tools: [],
  });
  await expect(runner.runUntilDone()).rejects.toThrow(/^400 .*thread: /);
  expect(anthropicUpstream.requests).toEqual([]);
});

test.each(['to/anthropic', 'to/openai'])(
  'runs the tool loop of the same SDK without a thread (%s)',
  async (id) => {
    const cities: unknown[] = [];
    const runner = anthropic.beta.messages.toolRunner({
      thread: false,
      model: id,
      max_tokens: 90,
      messages: ASK,
      tools: [
        {
          name: 'weather',
          input_schema: { type: 'object' as const },
          parse: (input: unknown) => input,
          run: (input: unknown) => {
            cities.push(input);
            return 'sunny';
          },
        },
      ],
    });
    expect(await runner).toMatchObject({ stop_reason: 'end_turn' });
    expect(cities).toEqual([{ city: 'Paris' }]);
  },
);

describe('same protocol: kept as it is', () => {
  test.each([
    ['7', 7],
    ['9007199254740991', 9_007_199_254_740_991],
    // a JSON number cannot hold 2^63 − 1: the remainder of its rounded neighbor
    ['9223372036854775807', 1_024],
    ['-9223372036854775808', -1_024],
  ])('sends a seed of %s as %i, whichever 64 bits a client draws', async (drawn, sent) => {
    const body = `{"model":"to/openai","messages":[{"role":"user","content":"hi"}],"seed":${drawn}}`;
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${gateway.url}/api/v1/chat/completions`, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    expect(openaiUpstream.last.body.seed).toBe(sent);
  });

  test('passes members of other servers on and unknown members back, with our own ids and model', async () => {
    const params = {
      model: 'to/openai',
      messages: ASK,
      logprobs: true,
      logit_bias: { 5: 1 },
      guided_choice: ['a'],
      seed: 7,
    };
    const answer = await openai.chat.completions.create(params);
    expect(openaiUpstream.last.body).toMatchObject({
      logprobs: true,
      logit_bias: { 5: 1 },
      guided_choice: ['a'],
      seed: 7,
    });
    expect(openaiUpstream.last.body.model).toBe('gpt');
    expect(answer.choices[0]?.logprobs).toEqual({ content: [] });
    expect(answer.system_fingerprint).toBe('fp_44709d6fcb');
    expect(answer.id).toMatch(/^gen-/);
    expect(answer.model).toBe('to/openai');
  });

  test('keeps cache markers and thinking of a messages call, but not members of betas', async () => {
    anthropicUpstream.reset({ reasoning: 'Let me think', cacheRead: 10 });
    const answer = await anthropic.messages.create({
      model: 'to/anthropic',
      max_tokens: 3_000,
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      system: [{ type: 'text', text: 'long', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: ASK,
      metadata: { user_id: 'u-1' },
      ...{ context_management: { edits: [] } },
    });
    const { body } = anthropicUpstream.last;
    expect(body.system[0].cache_control).toEqual({ type: 'ephemeral' });
    expect(body).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      metadata: { user_id: 'u-1' },
    });
    expect(body.context_management).toBeUndefined();
    expect(answer.content[0]).toEqual({
      type: 'thinking',
      thinking: 'Let me think',
      signature: 'signed-by-upstream',
    });
    expect(answer.usage).toMatchObject({
      input_tokens: 20,
      cache_read_input_tokens: 10,
      cache_read_tokens: 10,
      cost: expect.any(Number),
    });
    const { input_tokens: fresh, cache_read_input_tokens: cached, output_tokens: written } = answer.usage;
    expect(answer.usage).toMatchObject({ total_tokens: fresh + (cached ?? 0) + written });
  });

  test('sends our own headers upstream, never those of the caller', async () => {
    await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'sk-caller',
        cookie: 'a=b',
        'anthropic-beta': 'x',
      },
      body: JSON.stringify({ model: 'to/anthropic', messages: [{ content: 'x' }] }),
    });
    const { headers } = anthropicUpstream.last;
    expect(headers).toMatchObject({ 'x-api-key': 'upstream-key', 'anthropic-version': '2023-06-01' });
    expect(headers.cookie).toBeUndefined();
    expect(headers['anthropic-beta']).toBeUndefined();
    expect(anthropicUpstream.last.body.max_tokens).toBe(4_096);
  });

  test('supports an Azure-style server: query, key header, cap field, no usage in streams', async () => {
    const stream = openai.chat.completions.stream({
      model: 'to/azure',
      messages: [{ role: 'developer', content: 'd' }, ...ASK],
      max_completion_tokens: 5,
      stream: true,
    });
    await stream.finalChatCompletion();
    const { path, headers, body } = openaiUpstream.last;
    expect(path).toBe('/v1/chat/completions?api-version=2024-10-21');
    expect(headers).toMatchObject({ 'api-key': 'azure-key', 'x-extra': 'yes' });
    expect(headers.authorization).toBeUndefined();
    expect(body).toMatchObject({ max_completion_tokens: 5, model: 'deployment' });
    expect(body.max_tokens).toBeUndefined();
    expect(body.stream_options).toBeUndefined();
    expect(body.messages[0].role).toBe('developer');
    expect(gateway.ledger.last).toMatchObject({ usageSource: 'counted', finishReason: 'length' });
  });

  test('turns developer into system where the server does not know it', async () => {
    await openai.chat.completions.create({
      model: 'to/openai',
      messages: [{ role: 'developer', content: 'd' }, ...ASK],
    });
    expect(openaiUpstream.last.body.messages[0]).toEqual({ role: 'system', content: 'd' });
  });
});

describe('chat to an Anthropic provider', () => {
  const choices: [OpenAI.ChatCompletionToolChoiceOption | 'weather', object | undefined][] = [
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    ['weather', { type: 'tool', name: 'weather' }],
    [
      { type: 'function', function: { name: 'weather' } },
      { type: 'tool', name: 'weather' },
    ],
    [
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'weather' } }] },
      },
      { type: 'any' },
    ],
  ];
  test.each(choices)('translates tool_choice %j', async (choice, expected) => {
    const other = { type: 'function' as const, function: { name: 'other' } };
    await openai.chat.completions.create({
      model: 'to/anthropic',
      messages: ASK,
      tools: [TOOL, other],
      tool_choice: choice as OpenAI.ChatCompletionToolChoiceOption,
    });
    expect(anthropicUpstream.last.body.tool_choice).toEqual(expected);
    const names = anthropicUpstream.last.body.tools.map((tool: { name: string }) => tool.name);
    expect(names).toEqual(
      typeof choice === 'object' && choice.type === 'allowed_tools' ? ['weather'] : ['weather', 'other'],
    );
  });

  test('translates serial tools, JSON schema, user and temperature', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    await openai.chat.completions.create({
      model: 'to/anthropic',
      messages: ASK,
      tools: [TOOL],
      parallel_tool_calls: false,
      temperature: 1.8,
      user: 'u-7',
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    });
    expect(anthropicUpstream.last.body).toMatchObject({
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      temperature: 1,
      metadata: { user_id: 'u-7' },
      output_config: { format: { type: 'json_schema', schema } },
    });
  });

  test.each([false, true])(
    'preserves thinking and its signature across a tool loop (stream: %s)',
    async (stream) => {
      anthropicUpstream.reset({ reasoning: 'I should look' });
      const params = {
        model: 'to/anthropic',
        messages: ASK,
        tools: [TOOL],
        reasoning_effort: 'medium' as const,
        max_tokens: 4_000,
      };
      // biome-ignore lint/suspicious/noExplicitAny: reasoning members are not in the SDK's types
      let message: any;
      if (stream) {
        message = {
          role: 'assistant',
          reasoning: '',
          reasoning_details: [],
          tool_calls: [{ function: { arguments: '' } }],
        };
        for await (const chunk of await openai.chat.completions.create({ ...params, stream: true })) {
          // biome-ignore lint/suspicious/noExplicitAny: as above
          const delta: any = chunk.choices[0]?.delta ?? {};
          message.reasoning += delta.reasoning ?? '';
          message.reasoning_details.push(...(delta.reasoning_details ?? []));
          const [call] = delta.tool_calls ?? [];
          if (call) {
            const [known] = message.tool_calls;
            message.tool_calls = [
              {
                ...known,
                ...call,
                function: {
                  ...known.function,
                  ...call.function,
                  arguments: known.function.arguments + call.function.arguments,
                },
              },
            ];
          }
        }
      } else {
        message = (await openai.chat.completions.create(params)).choices[0]?.message;
      }
      expect(anthropicUpstream.last.body.thinking).toEqual({ type: 'enabled', budget_tokens: 2_000 });
      expect(message.reasoning).toBe('I should look');
      const result = { role: 'tool' as const, tool_call_id: message.tool_calls[0].id, content: '21 °C' };
      await openai.chat.completions.create({ ...params, messages: [...ASK, message, result] });
      expect(anthropicUpstream.last.body.messages).toEqual([
        { role: 'user', content: [{ type: 'text', text: 'hello' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'I should look', signature: 'signed-by-upstream' },
            { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '21 °C' }] },
      ]);
    },
  );

  test.each([false, true])('passes on a refusal (stream: %s)', async (stream) => {
    anthropicUpstream.reset({ refusal: true });
    const answer = stream
      ? await openai.chat.completions
          .stream({ model: 'to/anthropic', messages: ASK, stream: true })
          .finalChatCompletion()
      : await openai.chat.completions.create({ model: 'to/anthropic', messages: ASK });
    expect(answer.choices[0]?.finish_reason).toBe('content_filter');
  });
});

describe('messages to an OpenAI provider', () => {
  const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }];
  const choices: [Anthropic.ToolChoice | string, unknown, boolean | undefined][] = [
    [{ type: 'auto', disable_parallel_tool_use: true }, 'auto', false],
    [{ type: 'any' }, 'required', undefined],
    [{ type: 'none' }, 'none', undefined],
    [{ type: 'tool', name: 'weather' }, { type: 'function', function: { name: 'weather' } }, undefined],
    ['any', 'required', undefined],
  ];
  test.each(choices)('translates tool_choice %j', async (choice, expected, parallel) => {
    const params = { model: 'to/openai', max_tokens: 100, messages: ASK, tools };
    await anthropic.messages.create({ ...params, tool_choice: choice as Anthropic.ToolChoice });
    expect(openaiUpstream.last.body.tool_choice).toEqual(expected);
    expect(openaiUpstream.last.body.parallel_tool_calls).toBe(parallel);
  });

  test('translates a whole tool loop with parallel results and an image in one of them', async () => {
    const image = {
      type: 'image' as const,
      source: { type: 'url' as const, url: 'https://x.example/a.png' },
    };
    await anthropic.messages.create({
      model: 'to/openai',
      max_tokens: 100,
      tools,
      messages: [
        ...ASK,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 's' },
            { type: 'text', text: 'Looking' },
            { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Paris' } },
            { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Oslo' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: '21' },
            {
              type: 'tool_result',
              tool_use_id: 'b',
              content: [{ type: 'text', text: '7' }, image],
              is_error: false,
            },
            { type: 'text', text: 'and?' },
          ],
        },
      ],
    });
    expect(openaiUpstream.last.body.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: 'Looking',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
          { id: 'b', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: '21' },
      { role: 'tool', tool_call_id: 'b', content: '7' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
          { type: 'text', text: 'and?' },
        ],
      },
    ]);
  });

  test('asks for effort on thinking only where the model can reason', async () => {
    const params = {
      max_tokens: 4_000,
      messages: ASK,
      thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
    };
    await anthropic.messages.create({ ...params, model: 'to/openai' });
    expect(openaiUpstream.last.body.reasoning_effort).toBeUndefined();
    await anthropic.messages.create({ ...params, model: 'to/reasoning' });
    expect(openaiUpstream.last.body.reasoning_effort).toBe('medium');
    expect(openaiUpstream.last.body.thinking).toBeUndefined();
  });

  test.each([false, true])('returns reasoning and refusal as blocks (stream: %s)', async (stream) => {
    openaiUpstream.reset({ reasoning: 'hmm hmm', refusal: true });
    const thinking = { type: 'enabled' as const, budget_tokens: 1_024 };
    const params = { model: 'to/openai', max_tokens: 2_000, messages: ASK };
    for (const asked of [{ thinking }, {}]) {
      const answer = stream
        ? await anthropic.messages.stream({ ...params, ...asked }).finalMessage()
        : await anthropic.messages.create({ ...params, ...asked });
      const blocks = 'thinking' in asked ? ['thinking', 'text'] : ['text'];
      expect(answer.content.map((block) => block.type)).toEqual(blocks);
      expect(answer.content[0]).toMatchObject('thinking' in asked ? { thinking: 'hmm hmm' } : {});
      expect(answer.stop_reason).toBe('refusal');
      expect(gateway.ledger.last.usage.reasoningTokens).toBe(2);
    }
  });

  test('asks for a JSON schema with output_config', async () => {
    const schema = { type: 'object', additionalProperties: false };
    await anthropic.messages.create({
      model: 'to/openai',
      max_tokens: 50,
      messages: ASK,
      output_config: { format: { type: 'json_schema', schema } },
    });
    expect(openaiUpstream.last.body.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { schema },
    });
  });
});

const manyTools = (tool: (name: string) => object) =>
  Array.from({ length: 300 }, (_, index) => tool(`t${index}`));
const CALLED = {
  role: 'assistant',
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
};
const RESULT = { role: 'tool', tool_call_id: 'c1', content: 'done' };

describe('rejected requests', () => {
  async function refusal(path: string, body: object) {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'to/openai', messages: [{ content: 'x' }], ...body }),
    });
    return { status: response.status, body: await response.json() };
  }

  test.each([
    ['n of 2', { n: 2 }],
    ['web search', { web_search_options: {} }],
    ['audio', { modalities: ['text', 'audio'] }],
    ['no messages', { messages: [] }],
    ['a tool without its function', { tools: [{ type: 'function' }] }],
    [
      'the choice of a tool that is not there',
      { tools: [TOOL], tool_choice: { type: 'function', function: { name: 'x' } } },
    ],
    ['the choice of a tool without tools', { tool_choice: { type: 'function', function: { name: 'x' } } }],
    ['a question without content', { messages: [{ role: 'user' }] }],
    ['instructions without content', { messages: [{ role: 'system', content: null }, { content: 'x' }] }],
    ['a temperature of 3', { temperature: 3 }],
    ['a seed of more than 64 bits', { seed: 2 ** 64 }],
    ['half a seed', { seed: 0.5 }],
    ['max_tokens of 0', { max_tokens: 0 }],
    ['a role nobody has', { messages: [{ role: 'robot', content: 'x' }] }],
    [
      'a file: URL',
      { messages: [{ content: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] }] },
    ],
    [
      'an http: URL',
      { messages: [{ content: [{ type: 'image_url', image_url: { url: 'http://169.254.169.254/' } }] }] },
    ],
  ])('chat: %s', async (_what, body) => {
    const { status, body: answer } = await refusal('/api/v1/chat/completions', body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { code: 'invalid_parameter' } });
  });

  test.each([
    ['the choice of a tool that is not there', { tool_choice: { type: 'tool', name: 'x' } }],
    ['a server tool', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['an unknown block towards OpenAI', { messages: [{ content: [{ type: 'search_result' }] }] }],
    ['a message of a tool', { messages: [{ role: 'tool', content: 'x' }] }],
  ])('messages: %s', async (_what, body) => {
    const { status, body: answer } = await refusal('/vendorx/v1/messages', body);
    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { code: 'invalid_parameter' } });
  });

  test('MCP servers, by name, rather than their toolsets', async () => {
    const servers = { mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }] };
    const toolset = { tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] };
    for (const body of [servers, { ...toolset, ...servers }]) {
      const { status, body: answer } = await refusal('/vendorx/v1/messages', body);
      expect(status).toBe(400);
      expect(answer).toMatchObject({
        error: { message: 'mcp_servers: is not supported here; run the tools of the server yourself' },
      });
    }
  });

  test.each([
    ['2,001 messages', { messages: Array.from({ length: 2_001 }, () => ({ role: 'user', content: 'x' })) }],
    ['300 tools', { tools: manyTools((name) => ({ type: 'function', function: { name } })) }],
    ['an answer of calls alone', { messages: [{ content: 'x' }, CALLED, RESULT] }],
  ])('accepts %s', async (_what, body) => {
    expect((await refusal('/api/v1/chat/completions', body)).status).toBe(200);
  });

  test('accepts 300 tools of an agent on messages', async () => {
    const tools = manyTools((name) => ({ name, input_schema: { type: 'object' } }));
    const body = { tools, tool_choice: { type: 'none' } };
    expect((await refusal('/vendorx/v1/messages', body)).status).toBe(200);
  });

  test('drops members that ask for prices, providers or storage', async () => {
    const body = {
      provider: { order: ['x'] },
      service_tier: 'priority',
      store: true,
      temperature: null,
    };
    expect((await refusal('/api/v1/chat/completions', body)).status).toBe(200);
    const sent = Object.keys(openaiUpstream.last.body).sort();
    expect(sent).toEqual(['max_tokens', 'messages', 'model', 'stream']);
  });
});

describe.each(['to/openai', 'to/anthropic'])('frames of %s', (id) => {
  async function frames(path: string, asked: object = {}) {
    openaiUpstream.reset({ words: ['a', ' b'] });
    anthropicUpstream.reset({ words: ['a', ' b'] });
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: id, stream: true, messages: [{ content: 'x' }], ...asked }),
    });
    return (await response.text()).split('\n\n').filter((frame) => frame !== '');
  }

  test('messages: sends each event once, named twice, in order', async () => {
    const events = (await frames('/vendorx/v1/messages')).map(
      (frame) => /^event: (.*)\ndata: (.*)$/.exec(frame)!,
    );
    expect(events.map((event) => event[1])).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const data = events.map((event) => JSON.parse(event[2]!));
    expect(data.map((one) => one.type)).toEqual(events.map((event) => event[1]));
    expect(data[0].message).toMatchObject({ type: 'message', role: 'assistant', model: id, content: [] });
    expect(data[5]).toMatchObject({
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { input_tokens: 20, output_tokens: 2, total_tokens: 22, cache_read_input_tokens: 0 },
    });
  });

  test('chat: sends role, content, finish, usage, [DONE]', async () => {
    const all = await frames('/api/v1/chat/completions');
    expect(all.pop()).toBe('data: [DONE]');
    const chunks = all.map((frame) => JSON.parse(frame.slice(6)));
    expect(chunks.map((chunk) => chunk.choices[0].delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: 'a' },
      { content: ' b' },
      {},
    ]);
    expect(chunks.map((chunk) => chunk.choices[0].finish_reason)).toEqual([null, null, null, 'stop']);
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([chunks.at(-1)]);
    expect(chunks.at(-1).usage).toMatchObject({
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
      cost: expect.any(Number),
    });
  });

  test('chat: sends usage in a chunk without choices on request', async () => {
    const all = await frames('/api/v1/chat/completions', { stream_options: { include_usage: true } });
    const chunks = all.slice(0, -1).map((frame) => JSON.parse(frame.slice(6)));
    expect(chunks.map((chunk) => chunk.choices.length)).toEqual([1, 1, 1, 1, 0]);
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([chunks.at(-1)]);
  });

  test('messages: never makes the sum an SDK computes contradict the end', async () => {
    openaiUpstream.reset({ words: ['a', ' b'] });
    anthropicUpstream.reset({ words: ['a', ' b'] });
    const stream = anthropic.messages.stream({ model: id, max_tokens: 50, messages: ASK });
    const { usage } = await stream.finalMessage();
    expect(usage).not.toHaveProperty('total_tokens');
    expect(usage).toMatchObject({ input_tokens: 20, output_tokens: 2, cache_read_input_tokens: 0 });
  });
});

test('reports the effective version', async () => {
  const call = (headers: Record<string, string>) =>
    fetch(`${gateway.url}/vendorx/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'to/anthropic', messages: [{ content: 'x' }] }),
    });
  expect((await call({})).headers.get('vendorx-version')).toBe('2023-06-01');
  expect((await call({ 'vendorx-version': '2023-06-01' })).headers.get('vendorx-version')).toBe('2023-06-01');
  expect((await call({ 'vendorx-version': 'new' })).status).toBe(400);
});
