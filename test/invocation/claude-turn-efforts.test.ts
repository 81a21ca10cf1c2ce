import type { UpstreamServer } from '../factories/upstream-server.ts';
import { ClaudeGateway } from './claude-gateway.ts';
import { type Gateway, model } from './gateway.ts';

/** Claude Code changes the effort within a conversation by a system turn that holds nothing else. */

const BETA = 'mid-conversation-output-config-2026-07-01';

let servers: ClaudeGateway;
let upstream: UpstreamServer;
let chatUpstream: UpstreamServer;
let gateway: Gateway;

beforeAll(async () => {
  servers = await ClaudeGateway.start([
    model('opus', [{ provider: 'anthropic', model: 'claude-opus-5' }]),
    model('fable', [{ provider: 'anthropic', model: 'claude-fable-5' }]),
    model('before', [{ provider: 'anthropic', model: 'claude-opus-4-8' }]),
    model('older', [{ provider: 'anthropic', model: 'claude-opus-4-6', thinking: 'adaptive' }]),
    model('gpt', [{ provider: 'openai', model: 'gpt-5' }], { supportedParameters: ['reasoning_effort'] }),
    model('plain', [{ provider: 'openai', model: 'gpt-4o' }]),
  ]);
  ({ upstream, chatUpstream, gateway } = servers);
});

beforeEach(() => {
  upstream.reset();
  chatUpstream.reset();
});

afterAll(() => servers?.close());

const ASK = { role: 'user', content: 'plan' };
const SAID = { role: 'assistant', content: 'one, two' };
const CALLS = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] };
const RESULTS = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'r' }] };
const LOW = { role: 'system', output_config: { effort: 'low' } };
const MAX = { role: 'system', content: [], output_config: { effort: 'max' } };

async function post(path: string, body: object, headers: object = {}): Promise<Response> {
  return await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function message(body: object, headers: object = { 'anthropic-beta': BETA }): Promise<string | null> {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  const response = await post('/v1/messages', { max_tokens: 2_000, tools, ...body }, headers);
  const text = await response.text();
  if (!response.ok) {
    throw new Error(text);
  }
  return response.headers.get('x-ignored-parameters');
}

test('an effort stays on its turn for models that know it there, with the beta', async () => {
  const output_config = { effort: 'high' };
  expect(await message({ model: 'opus', messages: [ASK, SAID, LOW, ASK], output_config })).toBeNull();
  expect(upstream.last.headers['anthropic-beta']).toBe(BETA);
  expect(upstream.last.body).toMatchObject({
    output_config,
    messages: [ASK, SAID, { role: 'system', content: [], output_config: { effort: 'low' } }, ASK],
  });
});

test.each([
  ['a model without it', 'before', undefined],
  ['another model without it', 'fable', undefined],
  ['a call without the beta', 'opus', {}],
])('to %s it is the effort of the request', async (_what, name, headers) => {
  const body = { model: name, messages: [ASK, SAID, LOW, ASK], output_config: { effort: 'high' } };
  expect(await message(body, headers)).toBeNull();
  expect(upstream.last.body.messages).toEqual([ASK, SAID, ASK]);
  expect(upstream.last.body.output_config).toEqual({ effort: 'low' });
});

test('the words of a turn that also sets the effort stay', async () => {
  const both = { role: 'system', content: 'be brief', output_config: { effort: 'low' } };
  await message({ model: 'before', messages: [ASK, SAID, both, ASK] });
  expect(upstream.last.body.messages).toEqual([ASK, SAID, { role: 'system', content: 'be brief' }, ASK]);
});

test.each<[string, object[], string | undefined]>([
  ['after the question, for its answer', [ASK, LOW], 'low'],
  ['after an answer, from the next question on', [ASK, SAID, LOW, ASK], 'low'],
  ['within a loop of tools, not yet', [ASK, CALLS, LOW, RESULTS], undefined],
  ['within a loop, then a question', [ASK, CALLS, RESULTS, LOW, SAID, ASK], 'low'],
  ['the last one', [ASK, LOW, SAID, MAX, ASK], 'max'],
  ['before a question that has another one after it', [LOW, ASK, MAX], 'max'],
])('an effort holds: %s', async (_when, messages, effort) => {
  await message({ model: 'before', messages });
  expect(upstream.last.body.output_config?.effort).toBe(effort);
});

test('a model of another protocol gets it as its own effort; one that cannot reason gets none, and that is told', async () => {
  const messages = [ASK, SAID, MAX, ASK];
  expect(await message({ model: 'gpt', messages })).toBeNull();
  expect(chatUpstream.last.body).toMatchObject({ reasoning_effort: 'xhigh', messages: [ASK, SAID, ASK] });
  expect(await message({ model: 'plain', messages })).toContain('messages[].output_config');
  expect(chatUpstream.last.body).not.toHaveProperty('reasoning_effort');
});

test('a turn with neither words nor an effort is rejected; an effort of a user turn is left out and told', async () => {
  await expect(message({ model: 'opus', messages: [ASK, { role: 'system' }] })).rejects.toThrow(
    'messages[1].content: is required',
  );
  await expect(
    message({ model: 'opus', messages: [{ role: 'user', output_config: { effort: 'low' } }] }),
  ).rejects.toThrow('messages[0].content: is required');
  const strange = [{ ...ASK, output_config: { effort: 'low' } }];
  expect(await message({ model: 'opus', messages: strange })).toBe('messages[].output_config');
  expect(upstream.last.body.messages).toEqual([ASK]);
});

test.each([
  ['opus', 'xhigh', 'xhigh'],
  ['opus', 'max', 'max'],
  ['before', 'xhigh', 'xhigh'],
  ['older', 'xhigh', 'high'],
  ['older', 'max', 'max'],
  ['fable', 'minimal', 'low'],
])('chat: %s gets reasoning_effort %s as %s', async (name, asked, effort) => {
  const response = await post('/api/v1/chat/completions', {
    model: name,
    messages: [ASK],
    reasoning_effort: asked,
  });
  expect(response.status).toBe(200);
  expect(upstream.last.body).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort } });
});
