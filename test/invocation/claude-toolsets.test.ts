import type { UpstreamServer } from '../factories/upstream-server.ts';
import { ClaudeGateway } from './claude-gateway.ts';
import { type Gateway, model } from './gateway.ts';

/** Toolsets: entries without a name that stand for several tools, which the caller runs. */

let servers: ClaudeGateway;
let upstream: UpstreamServer;
let chatUpstream: UpstreamServer;
let gateway: Gateway;

beforeAll(async () => {
  servers = await ClaudeGateway.start([
    model('claude', [{ provider: 'anthropic', model: 'claude-haiku-5-5' }]),
    model('older-claude', [{ provider: 'anthropic', model: 'claude-opus-5' }]),
    model('gpt', [{ provider: 'openai', model: 'gpt-5' }]),
  ]);
  ({ upstream, chatUpstream, gateway } = servers);
});

beforeEach(() => {
  upstream.reset({ call: { name: 'screenshot', arguments: {} } });
  chatUpstream.reset();
});

afterAll(() => servers?.close());

const ASK = { role: 'user', content: 'look' };
const SCREEN = { type: 'computer_toolset_20260801', configs: { zoom: { enabled: false } } };
const BROWSER = { type: 'browser_toolset_20260801' };
const CALL = { type: 'tool_use', id: 't1', name: 'screenshot', toolset_name: 'computer', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 't1', content: 'a window' };

async function message(body: object, headers: object = {}): Promise<string | null> {
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'claude', max_tokens: 100, messages: [ASK], ...body }),
  });
  if (!response.ok) {
    throw new Error(await response.text());
  }
  return response.headers.get('x-ignored-parameters');
}

test('the screen and the browser reach Claude whole, and so do the calls of their members', async () => {
  const messages = [ASK, { role: 'assistant', content: [CALL] }, { role: 'user', content: [RESULT] }];
  expect(await message({ tools: [SCREEN, BROWSER], messages })).toBeNull();
  expect(upstream.last.body).toMatchObject({ tools: [SCREEN, BROWSER], messages });
  const tool_choice = { type: 'tool', name: 'screenshot' };
  await message({ tools: [SCREEN], tool_choice });
  expect(upstream.last.body.tool_choice).toEqual(tool_choice);
});

test('the older tool of the screen gets the beta that it needs', async () => {
  const headers = { 'anthropic-beta': 'computer-use-2025-11-24' };
  const tools = [
    { type: 'computer_20251124', name: 'computer', display_width_px: 10, display_height_px: 10 },
  ];
  expect(await message({ model: 'older-claude', tools }, headers)).toBeNull();
  expect(upstream.last.headers['anthropic-beta']).toBe('computer-use-2025-11-24');
});

test.each([
  [
    'a toolset of a server',
    'claude',
    { type: 'mcp_toolset', mcp_server_name: 'm' },
    'only tools that the caller runs',
  ],
  ['a toolset for a model of another protocol', 'gpt', SCREEN, 'a tool of type'],
  [
    'any other tool without a name',
    'claude',
    { input_schema: { type: 'object' } },
    'tools[0].name: is required',
  ],
  [
    'a single tool of the screen without a name',
    'claude',
    { type: 'computer_20251124' },
    'tools[0].name: is required',
  ],
])('rejects %s', async (_what, name, tool, words) => {
  await expect(message({ model: name, tools: [tool] })).rejects.toThrow(words);
  expect([...upstream.requests, ...chatUpstream.requests]).toEqual([]);
});
