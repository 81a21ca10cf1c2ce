import { atOnce } from '../lib/steps.ts';
import { applyRequestPolicy as policyInSteps } from './request-policy.ts';

const applyRequestPolicy = (...args: Parameters<typeof policyInSteps>) => atOnce(policyInSteps(...args));

const ASK = [{ role: 'user', content: 'hi' }];

test('members that are not on the list are left out and reported once, with names that are safe in a header', () => {
  const { body, others, ignored } = applyRequestPolicy('chat', {
    model: 'm',
    stream: true,
    max_tokens: 5,
    n: 1,
    seed: 7,
    temperature: null,
    n_predict: 20_000,
    extra_body: { a: 1 },
    'x\r\ny, z': 1,
    messages: [
      { role: 'user', type: 'tool_use', id: 'a', content: 'one' },
      { role: 'user', id: 'b', annotations: null, content: [{ type: 'text', text: 'two', weight: 9 }] },
    ],
  });
  expect(body).toEqual({
    seed: 7,
    messages: [
      { role: 'user', content: 'one' },
      { role: 'user', content: [{ type: 'text', text: 'two' }] },
    ],
  });
  expect(others).toMatchObject({ n_predict: 20_000, extra_body: { a: 1 } });
  expect(ignored).toEqual([
    'n_predict',
    'extra_body',
    'x??y??z',
    'messages[].type',
    'messages[].id',
    'messages[].content[].weight',
  ]);
});

test('a turn of calls alone keeps its null content; elsewhere null asks for nothing', () => {
  const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }];
  const turns = Array.from({ length: 70 }, () => ({
    role: 'assistant',
    content: null,
    refusal: null,
    tool_calls,
  }));
  for (const messages of [turns.slice(0, 1), turns]) {
    const { body, ignored } = applyRequestPolicy('chat', { messages });
    expect(body.messages).toEqual(messages.map(({ role, content }) => ({ role, content, tool_calls })));
    expect(ignored).toEqual([]);
  }
  const { body } = applyRequestPolicy('chat', { messages: [{ role: 'user', content: null }] });
  expect(body.messages).toEqual([{ role: 'user' }]);
});

/** Each of these changes the price, the cap, the priority or the prompt text on some server. */
test.each([
  'n_predict',
  'min_tokens',
  'ignore_eos',
  'extra_body',
  'service_tier',
  'priority',
  'prediction',
  'use_beam_search',
  'chat_template',
  'chat_template_kwargs',
  'documents',
  'prompt_cache_retention',
  'max_output_tokens',
  'store',
  'provider',
])('%s is never sent to a provider', (name) => {
  for (const dialect of ['chat', 'messages'] as const) {
    const { body, ignored } = applyRequestPolicy(dialect, { messages: ASK, [name]: { a: 1 } });
    expect(body).toEqual({ messages: ASK });
    expect(ignored).toEqual([name]);
  }
});

test('a clean request is passed on unchanged', () => {
  const { body, ignored } = applyRequestPolicy('chat', { model: 'm', messages: ASK });
  expect(body.messages).toBe(ASK);
  expect(ignored).toEqual([]);
});

test('caching for an hour is reduced to the default in both dialects', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const content = [{ type: 'text', text: 'a', cache_control }];
  for (const dialect of ['chat', 'messages'] as const) {
    const { body, ignored } = applyRequestPolicy(dialect, { messages: [{ role: 'user', content }] });
    expect(JSON.stringify(body)).toContain('"cache_control":{"type":"ephemeral"}');
    expect(ignored).toEqual(['messages[].content[].cache_control.ttl']);
  }
});

test.each<[string, object]>([
  ['search_parameters', { search_parameters: { mode: 'on' } }],
  ['enable_search', { enable_search: true }],
  ['web_search_options', { web_search_options: {} }],
  ['modalities', { modalities: ['text', 'audio'] }],
  ['plugins', { plugins: [{ id: 'web' }] }],
  ['tools[0]', { tools: [{ type: 'live_search' }] }],
  ['tools[0]', { tools: [{ google_search: {} }] }],
  ['tools[0].function: must be an object with a name', { tools: [{ type: 'function' }] }],
  ['tools[0].custom: must be an object with a name', { tools: [{ type: 'custom', custom: {} }] }],
  ['tool_choice: requires a tool', { tool_choice: 'required' }],
])('%s is rejected', (name, more) => {
  expect(() => applyRequestPolicy('chat', { messages: ASK, ...more })).toThrow(name);
});

test('a search that is turned off is accepted', () => {
  const off = { search_parameters: { mode: 'off' }, enable_search: false, modalities: ['text'] };
  expect(applyRequestPolicy('chat', { messages: ASK, ...off }).body).toMatchObject({ modalities: ['text'] });
});

test.each(['web_search_20250305', 'code_execution_20250522', 'tool_search_tool_regex', 'mcp_toolset', 'new'])(
  'a tool of type %s runs at the provider and is rejected',
  (type) => {
    expect(() => applyRequestPolicy('messages', { messages: ASK, tools: [{ type, name: 'x' }] })).toThrow(
      'only tools that the caller runs',
    );
  },
);

test.each(['bash_20250124', 'text_editor_20250728', 'computer_20250124', 'memory_20250818', 'custom'])(
  'a tool of type %s runs at the caller and is accepted',
  (type) => {
    const tools = [{ type, name: 'x' }];
    expect(applyRequestPolicy('messages', { messages: ASK, tools }).body.tools).toEqual(tools);
  },
);

test.each<[string, object]>([
  ['seed', { seed: 'x' }],
  ['messages[].content[].text', { messages: [{ role: 'user', content: [{ type: 'text', text: 7 }] }] }],
  ['messages[].tool_calls', { messages: [{ role: 'assistant', tool_calls: 'x' }] }],
  ['reasoning', { reasoning: 'high' }],
])('%s of the wrong type is rejected by name', (name, more) => {
  expect(() => applyRequestPolicy('chat', { messages: ASK, ...more })).toThrow(`${name}: must be`);
});

test('content of an unknown type is rejected', () => {
  const content = [{ type: 'hologram', url: 'https://x' }];
  for (const dialect of ['chat', 'messages'] as const) {
    expect(() => applyRequestPolicy(dialect, { messages: [{ role: 'user', content }] })).toThrow('hologram');
  }
});
