import { atOnce } from '../../lib/steps.ts';
import type { ModelRoute } from '../invocation.types.ts';
import { citationOf } from './annotations.ts';
import { chatAnswerToMessages } from './chat-answer-to-messages.ts';
import { chatRequestToMessages } from './chat-request-to-messages.ts';
import { claudeRequest } from './claude-request.ts';
import { messagesRequestToChat } from './messages-request-to-chat.ts';
import { modelRules, PLAIN_RULES } from './model-rules.ts';
import { mergedDetails } from './thinking-details.ts';
import { normalizeRequest, translateRequest } from './translate-request.ts';

const CHAT = { dialect: 'chat', requestDialect: 'chat' } as const;
const CAP = 4_000;
const toMessages = (body: object) =>
  atOnce(chatRequestToMessages({ messages: [{ role: 'user', content: 'hi' }], ...body }, CAP, PLAIN_RULES));
const toChat = (body: object, reasoning = false, details: readonly string[] = []) =>
  atOnce(
    messagesRequestToChat(
      { messages: [{ role: 'user', content: 'hi' }], ...body },
      {
        maxOutputTokens: CAP,
        reasoning,
        topEffort: 'xhigh',
        needsReasoningBack: false,
        details,
        stopsMax: 4,
      },
    ),
  );

describe('chat → messages', () => {
  test('a whole conversation', () => {
    const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1}' } });
    const messages = [
      { role: 'system', content: 'one' },
      { role: 'developer', content: [{ type: 'text', text: 'two', cache_control: { type: 'ephemeral' } }] },
      { role: 'user', content: 'hello' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      { role: 'assistant', content: 'sure', tool_calls: [call('x'), call('y')] },
      { role: 'tool', tool_call_id: 'x', content: 'rx' },
      { role: 'tool', tool_call_id: 'y', content: [{ type: 'text', text: 'ry' }] },
      { role: 'user', content: 'and now?' },
    ];
    const tools = [
      {
        type: 'function',
        function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
      },
    ];
    expect(toMessages({ messages, tools, stop: 'END', top_p: 0.5, seed: 4, presence_penalty: 1 })).toEqual({
      system: [
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hello' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'sure' },
            { type: 'tool_use', id: 'x', name: 'f', input: { a: 1 } },
            { type: 'tool_use', id: 'y', name: 'f', input: { a: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'x', content: 'rx' },
            { type: 'tool_result', tool_use_id: 'y', content: [{ type: 'text', text: 'ry' }] },
            { type: 'text', text: 'and now?' },
          ],
        },
      ],
      tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' }, strict: true }],
      stop_sequences: ['END'],
      top_p: 0.5,
    });
  });

  test('a PDF becomes a document', () => {
    const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' };
    const { messages } = toMessages({ messages: [{ role: 'user', content: [{ type: 'file', file }] }] });
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBE' };
    expect(messages).toEqual([{ role: 'user', content: [{ type: 'document', source, title: 'a.pdf' }] }]);
  });

  test.each([
    ['data:image/jpg;base64,AAAA', 'image/jpeg'],
    ['data:image/PNG;base64,AAAA', 'image/png'],
    ['data:IMAGE/JPG;base64,AAAA', 'image/jpeg'],
    ['data:image/webp;base64,AAAA', 'image/webp'],
  ])('the image %s has the media type %s', (url, media_type) => {
    const content = [{ type: 'image_url', image_url: { url } }];
    expect(toMessages({ messages: [{ role: 'user', content }] }).messages).toEqual([
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type, data: 'AAAA' } }] },
    ]);
  });

  test.each([
    ['data:text/plain;base64,aGVsbG8=', 'text', 'text/plain', 'hello'],
    ['data:text/markdown;charset=utf-8;base64,w6Q=', 'text', 'text/plain', 'ä'],
    ['data:application/json;base64,e30=', 'text', 'text/plain', '{}'],
    ['data:application/PDF;base64,JVBE', 'base64', 'application/pdf', 'JVBE'],
  ])('the file %s becomes a document of type %s', (file_data, type, media_type, data) => {
    const content = [{ type: 'file', file: { file_data } }];
    expect(toMessages({ messages: [{ role: 'user', content }] }).messages).toEqual([
      { role: 'user', content: [{ type: 'document', source: { type, media_type, data } }] },
    ]);
  });

  test.each<[object, object]>([
    [{ type: 'custom', custom: { name: 'f', input: 'ls -l' } }, { input: 'ls -l' }],
    [{ function: { name: 'f', arguments: '{"a":' } }, { arguments: '{"a":' }],
    [{ function: { name: 'f', arguments: '[1]' } }, { arguments: '[1]' }],
    [{ function: { name: 'f', arguments: { a: 1 } } }, { a: 1 }],
    [{ function: { name: 'f', arguments: '' } }, {}],
    [{ function: { name: 'f' } }, {}],
  ])('the earlier call %j has the input %j', (call, input) => {
    const messages = [{ role: 'assistant', tool_calls: [{ id: 'x', ...call }] }];
    expect(toMessages({ messages }).messages).toEqual([
      { role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'f', input }] },
    ]);
  });

  test('JSON without a schema is requested in the system prompt', () => {
    const { system } = toMessages({ response_format: { type: 'json_object' } });
    expect(JSON.stringify(system)).toContain('JSON');
  });

  test.each<[object, unknown]>([
    [{ reasoning_effort: 'low' }, { type: 'enabled', budget_tokens: 1_024 }],
    [{ reasoning_effort: 'high' }, { type: 'enabled', budget_tokens: 3_200 }],
    [{ reasoning: { max_tokens: 2_500 } }, { type: 'enabled', budget_tokens: 2_500 }],
    [{ reasoning: { max_tokens: 9_999 } }, { type: 'enabled', budget_tokens: 3_999 }],
    [{ reasoning: { enabled: true } }, { type: 'enabled', budget_tokens: 2_000 }],
    [{ reasoning_effort: 'max' }, { type: 'enabled', budget_tokens: 3_800 }],
    [{ reasoning_effort: 'none' }, undefined],
    [{}, undefined],
    [{ reasoning_effort: 'high', tools: [{ function: { name: 'f' } }], tool_choice: 'required' }, undefined],
  ])('%j becomes thinking %j', (body, thinking) => {
    const request = toMessages({ temperature: 0.3, ...body });
    expect(request.thinking).toEqual(thinking);
    expect(request.temperature).toBe(thinking ? undefined : 0.3);
  });

  test.each<[string, object]>([
    ['audio', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['a file id', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] }],
    ['a custom tool', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ['a stop sequence of spaces', { stop: ['\n'] }],
    ['a format that it cannot express', { response_format: { type: 'grammar', grammar: 'root ::= "a"' } }],
  ])('%s is rejected', (_what, body) => {
    expect(() => toMessages(body)).toThrow('is not supported for this model');
  });
});

describe('messages → chat', () => {
  test('system, sampling settings and metadata', () => {
    const system = [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'b' },
    ];
    const messages = [{ role: 'user', content: 'hi' }];
    const body = {
      system,
      messages,
      temperature: 0.5,
      top_p: 0.9,
      top_k: 40,
      stop_sequences: ['X'],
      metadata: { user_id: 'u' },
    };
    expect(toChat(body)).toEqual({
      messages: [
        { role: 'system', content: 'a\nb' },
        { role: 'user', content: 'hi' },
      ],
      stop: ['X'],
      temperature: 0.5,
      top_p: 0.9,
      user: 'u',
    });
  });

  test('documents', () => {
    const content = [
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JV' },
        title: 't.pdf',
        context: 'from 2019',
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' } },
      {
        type: 'document',
        title: 'Notes',
        context: 'of Anna',
        source: { type: 'text', media_type: 'text/plain', data: 'plain' },
      },
      { type: 'document', source: { type: 'content', content: 'whole' } },
      {
        type: 'document',
        source: {
          type: 'content',
          content: [
            { type: 'text', text: 'one' },
            { type: 'text', text: 'two' },
          ],
        },
      },
    ];
    expect(toChat({ messages: [{ role: 'user', content }] }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'from 2019' },
          { type: 'file', file: { filename: 't.pdf', file_data: 'data:application/pdf;base64,JV' } },
          { type: 'text', text: 'plain' },
          { type: 'text', text: 'Notes\nof Anna\nplain' },
          { type: 'text', text: 'whole' },
          { type: 'text', text: 'one\ntwo' },
        ],
      },
    ]);
  });

  test.each<[object, string | undefined]>([
    [{ thinking: { type: 'enabled', budget_tokens: 1_000 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 3_900 } }, 'high'],
    [{ thinking: { type: 'adaptive' } }, 'medium'],
    [{ thinking: { type: 'disabled' } }, undefined],
    [{ output_config: { effort: 'max' } }, 'xhigh'],
    [{}, undefined],
  ])('%j becomes effort %j', (body, effort) => {
    expect(toChat(body, true).reasoning_effort).toBe(effort);
    expect(toChat(body, false).reasoning_effort).toBeUndefined();
  });

  test.each<[string, object]>([
    ['a typed tool', { tools: [{ type: 'bash_20250124', name: 'bash' }] }],
    [
      'a file id',
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
    ],
    [
      'a document with images',
      {
        messages: [
          { content: [{ type: 'document', source: { type: 'content', content: [{ type: 'image' }] } }] },
        ],
      },
    ],
    [
      'a document by URL',
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://x' } }] },
        ],
      },
    ],
  ])('%s is rejected', (_what, body) => {
    expect(() => toChat(body)).toThrow('is not supported for this model');
  });
});

test("citations that are not Anthropic's own never reach it", () => {
  const own = { type: 'web_search_result_location', url: 'u', encrypted_index: 'e' };
  const foreign = citationOf({ url: 'u', title: 't', start: 0, end: 0, quote: '' });
  const turn = (citations: readonly object[]) => ({
    role: 'assistant',
    content: [{ type: 'text', text: 'a', citations }],
  });
  const messages = [turn([own, foreign]), turn([foreign])];
  expect(
    atOnce(claudeRequest({ body: { messages }, rules: PLAIN_RULES, maxOutputTokens: 4_096 })).messages,
  ).toEqual([turn([own]), { role: 'assistant', content: [{ type: 'text', text: 'a' }] }]);
});

describe('reasoning that must go back', () => {
  const text = {
    type: 'reasoning.text',
    text: 'hm',
    signature: 'sig',
    format: 'anthropic-claude-v1',
    index: 0,
  };
  const hidden = { type: 'reasoning.encrypted', data: 'EmwK', format: 'anthropic-claude-v1', index: 1 };
  const gemini = {
    type: 'reasoning.encrypted',
    data: 'c2ln',
    id: 'call_1',
    format: 'google-gemini-v1',
    index: 0,
  };
  const blocks = (details: readonly object[]) => {
    const message = { content: 'a', reasoning: 'hm', reasoning_details: details };
    const answer = { choices: [{ message, finish_reason: 'stop' }] };
    return chatAnswerToMessages(answer, { thinking: true, toolNames: new Map() }).content as object[];
  };
  const next = (content: readonly object[]) => ({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content },
      { role: 'user', content: 'and?' },
    ],
  });
  const sentBack = (content: readonly object[], formats: readonly string[]) =>
    (toChat(next(content), true, formats).messages as { reasoning_details?: object }[])[1]?.reasoning_details;

  test('goes from a chat answer into blocks and back', () => {
    expect(blocks([text, hidden]).slice(0, -1)).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'EmwK' },
    ]);
    expect(sentBack(blocks([text, hidden]), ['anthropic-claude'])).toEqual([text, hidden]);
    expect(sentBack(blocks([gemini]), ['google-gemini'])).toEqual([gemini]);
  });

  test('goes to no model that cannot read it', () => {
    expect(sentBack(blocks([text, hidden]), ['google-gemini'])).toBeUndefined();
    expect(sentBack(blocks([gemini]), ['anthropic-claude'])).toBeUndefined();
    const claude = atOnce(
      claudeRequest({ body: next(blocks([gemini])), rules: PLAIN_RULES, maxOutputTokens: 4_096 }),
    );
    expect(claude.messages).toMatchObject([{}, { content: [{ type: 'text' }] }, {}]);
    const history = [{ role: 'assistant', content: 'a', reasoning_details: [gemini, text] }];
    expect(toMessages({ messages: history }).messages).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'sig' },
          { type: 'text', text: 'a' },
        ],
      },
    ]);
  });

  test('is wanted by the models of a router that hand it out', () => {
    const wanted = (name: string) => modelRules({ provider: 'p', model: name } as ModelRoute, CHAT).details;
    expect(wanted('anthropic/claude-sonnet-4.5')).toEqual(['anthropic-claude']);
    expect(wanted('google/gemini-3-pro-preview')).toEqual(['google-gemini']);
    expect(wanted('openai/gpt-5')).toEqual(['openai-responses']);
    expect(wanted('gpt-5')).toEqual([]);
  });

  test('goes back to LiteLLM by its own name', () => {
    const rules = modelRules({ provider: 'p', model: 'claude-sonnet-4-5' } as ModelRoute, CHAT);
    const common = { maxOutputTokens: CAP, reasoning: true, rules, betas: [] };
    const thinking_blocks = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'EmwK' },
    ];
    const asked = next(blocks([text, hidden]));
    const sent = atOnce(translateRequest(asked, { from: 'messages', to: 'chat', ...common }));
    expect(sent.messages).toMatchObject([{}, { thinking_blocks }, {}]);
    const chat = { messages: [{ role: 'assistant', content: 'a', reasoning_details: [text, hidden] }] };
    expect(atOnce(translateRequest(chat, { from: 'chat', to: 'chat', ...common })).messages).toMatchObject([
      { thinking_blocks },
    ]);
  });

  test('is merged by block, and what is encrypted stays apart from its summary', () => {
    const sealed = {
      type: 'reasoning.encrypted',
      data: 'gAAAA',
      id: 'rs_1',
      format: 'openai-responses-v1',
      index: 0,
    };
    const summary = { type: 'reasoning.summary', format: 'openai-responses-v1', index: 0 };
    const pieces = [{ ...summary, summary: 'a' }, { ...summary, summary: 'b' }, sealed];
    expect(mergedDetails(pieces)).toEqual([{ ...summary, summary: 'ab' }, sealed]);
    const unnumbered = [{ text: 'a' }, { text: 'b' }, { signature: 's' }, { text: 'c' }].map((one) => ({
      type: 'reasoning.text',
      ...one,
    }));
    expect(mergedDetails(unnumbered)).toMatchObject([{ text: 'ab', signature: 's' }, { text: 'c' }]);
  });
});

test('our short forms are expanded for a provider of the same dialect', () => {
  const tools = [{ name: 'f' }];
  expect(normalizeRequest({ tools, tool_choice: 'any' }, 'messages').tool_choice).toEqual({ type: 'any' });
  expect(normalizeRequest({ tools, tool_choice: 'f' }, 'messages').tool_choice).toEqual({
    type: 'tool',
    name: 'f',
  });
  expect(normalizeRequest({ tools, tool_choice: 'required' }, 'chat').tool_choice).toBe('required');
  expect(normalizeRequest({ tools, tool_choice: 'any' }, 'chat').tool_choice).toBe('required');
  expect(normalizeRequest({ tools, tool_choice: 'f' }, 'chat').tool_choice).toEqual({
    type: 'function',
    function: { name: 'f' },
  });
  expect(normalizeRequest({ tools: [], tool_choice: 'auto', seed: 1 }, 'chat')).toEqual({ seed: 1 });
  for (const idle of [{ tool_choice: 'auto' }, { tool_choice: 'none' }, { parallel_tool_calls: false }]) {
    expect(normalizeRequest({ ...idle, seed: 1 }, 'chat')).toEqual({ seed: 1 });
  }
  expect(normalizeRequest({ tool_choice: { type: 'auto' } }, 'messages')).toEqual({});
  expect(normalizeRequest({ tool_choice: 'required' }, 'chat')).toEqual({ tool_choice: 'required' });
  for (const stop of ['', [], ['', '']]) {
    expect(normalizeRequest({ stop, seed: 1 }, 'chat')).toEqual({ seed: 1 });
  }
  expect(normalizeRequest({ stop: ['', ' '] }, 'chat')).toEqual({ stop: [' '] });
  expect(normalizeRequest({ reasoning: { effort: 'low' } }, 'chat')).toEqual({ reasoning_effort: 'low' });
  expect(normalizeRequest({ reasoning: { max_tokens: 9 } }, 'chat')).toEqual({
    reasoning: { max_tokens: 9 },
  });
});
