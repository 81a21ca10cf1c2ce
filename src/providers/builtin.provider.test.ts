import { BuiltinProvider } from './builtin.provider.ts';
import type { ProviderAnswer, ProviderRequest } from './provider.types.ts';
import { countTokens } from './token-counter.ts';

const provider = new BuiltinProvider({
  id: 'b',
  protocol: 'builtin',
  on_disconnect: 'abort',
  pass_through: [],
  token_delay_ms: 0,
});
const never = new AbortController().signal;

function request(body: object, maxOutputTokens = 1_000): ProviderRequest {
  return {
    model: 'builtin',
    body: { messages: [{ role: 'user', content: 'hello there' }], ...body },
    maxOutputTokens,
    reasons: false,
    betas: [],
    inTurn: () => Promise.reject(new Error('nothing here takes long')),
    onLeftOut: () => undefined,
  };
}

function ask(body: object, maxOutputTokens?: number): Promise<ProviderAnswer> {
  return provider.complete(request(body, maxOutputTokens), never);
}

test('says what it is and quotes the prompt, identically every time', async () => {
  const [one, two] = [await ask({}), await ask({})];
  expect(one).toEqual(two);
  expect(one.text).toContain("Tollgate's builtin model");
  expect(one.text).toContain('"hello there"');
  expect(one.finishReason).toBe('stop');
  expect(one.usage).toEqual({
    inputTokens: countTokens('hello there') + 4,
    outputTokens: countTokens(one.text),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  });
});

test('counts when asked to', async () => {
  const answer = await ask({ messages: [{ role: 'user', content: 'Please count to 5.' }] });
  expect(answer.text).toBe('1 2 3 4 5');
});

test('keeps to the output cap exactly', async () => {
  const answer = await ask({}, 7);
  expect(answer).toMatchObject({ finishReason: 'length', usage: { outputTokens: 7 } });
  expect(countTokens(answer.text)).toBe(7);
});

test('stops before a stop sequence', async () => {
  const answer = await ask({ messages: [{ role: 'user', content: 'count to 9' }], stop: ['7', ' 5'] });
  expect(answer).toMatchObject({ text: '1 2 3 4', finishReason: 'stop' });
});

test('answers in JSON when the request asks for it', async () => {
  const schema = {
    type: 'object',
    required: ['name', 'tags', 'kind', 'next'],
    properties: {
      name: { type: 'string' },
      tags: { type: 'array', items: { type: 'integer', minimum: 3 } },
      kind: { enum: ['a', 'b'] },
      next: { anyOf: [{ type: 'null' }, { type: 'string' }] },
      optional: { type: 'string' },
    },
  };
  const answer = await ask({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } });
  expect(JSON.parse(answer.text)).toEqual({ name: 'example', tags: [3], kind: 'a', next: null });
  const free = await ask({ response_format: { type: 'json_object' } });
  expect(JSON.parse(free.text)).toMatchObject({ prompt: 'hello there' });
});

const TOOLS = ['first', 'second'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}));

test.each<[string, object, string | undefined]>([
  ['required', { tool_choice: 'required' }, 'first'],
  ['by name', { tool_choice: { type: 'function', function: { name: 'second' } } }, 'second'],
  ['free choice', {}, undefined],
  ['forbidden', { tool_choice: 'none', messages: [{ role: 'user', content: 'use second' }] }, undefined],
  ['named by the user', { messages: [{ role: 'user', content: 'use second' }] }, 'second'],
])('chooses a tool: %s', async (_how, body, name) => {
  const answer = await ask({ tools: TOOLS, ...body });
  expect(answer.finishReason).toBe(name ? 'tool_calls' : 'stop');
  const expected = [{ type: 'function', function: { name, arguments: '{"city":"example"}' } }];
  const { choices } = answer.wire as { choices: [{ message: { tool_calls?: object[] } }] };
  if (name) {
    expect(choices[0].message.tool_calls).toMatchObject(expected);
  }
});

test('reads a tool result instead of calling again', async () => {
  const messages = [{ role: 'tool', tool_call_id: 'x', content: '21 °C, first' }];
  expect((await ask({ tools: TOOLS, messages })).text).toBe('The tool answered: "21 °C, first"');
});

test.each([{}, { tools: TOOLS, tool_choice: 'required' }])(
  'a stream has the same content as the JSON answer',
  async (body) => {
    const whole = await ask(body);
    let text = '';
    let end: unknown;
    for await (const batch of await provider.stream(request(body), never)) {
      for (const part of batch) {
        text += part.text;
        end = part.finishReason ? { finishReason: part.finishReason, usage: part.usage } : end;
      }
    }
    expect(text).toBe(whole.text);
    expect(end).toEqual({ finishReason: whole.finishReason, usage: whole.usage });
  },
);

test('a stream ends when its signal aborts', async () => {
  const controller = new AbortController();
  const slow = new BuiltinProvider({
    id: 'b',
    protocol: 'builtin',
    on_disconnect: 'abort',
    pass_through: [],
    token_delay_ms: 1_000,
  });
  const stream = await slow.stream(request({}), controller.signal);
  setTimeout(() => controller.abort(), 20);
  const read = async () => {
    for await (const _ of stream) {
      // only reads
    }
  };
  await expect(read()).rejects.toMatchObject({ reason: 'aborted' });
});
