import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import { startResponsesUpstream } from '../factories/upstream-responses.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { type RunningService, startService } from './running-service.ts';

/** Calls of each kind before those that are counted: hidden classes that calls share exist by then. */
const WARM_UP_CALLS = 30;
const CALLS = 20;
/** V8 writes its log through a buffer. */
const FLUSH_MS = 100;
const MESSAGES = [{ role: 'user', content: 'Count to three.' }];
const FUNCTIONS = [{ name: 'look', parameters: { type: 'object' } }];
const TOOLS = FUNCTIONS.map((named) => ({ type: 'function', function: named }));
const TOOL_TURNS = {
  max_tokens: 100,
  system: 'Be brief.',
  tools: [{ name: 'look', input_schema: { type: 'object' } }],
  messages: [
    ...MESSAGES,
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'three' }] },
  ],
};

let service: RunningService;
let upstreams: readonly UpstreamServer[];
let log: string;

beforeAll(async () => {
  log = join(temporaryFolder('maps'), 'v8.log');
  upstreams = await Promise.all([startOpenAiUpstream(), startAnthropicUpstream(), startResponsesUpstream()]);
  service = await startService({
    catalog: catalogOf(upstreams.map(({ url }) => url)),
    apiOptions: ['--log-maps', `--logfile=${log}`, '--no-logfile-per-isolate'],
  });
}, 180_000);

afterAll(async () => {
  await service?.stop();
  await Promise.all(upstreams?.map((upstream) => upstream.close()) ?? []);
});

function catalogOf(urls: readonly string[]): string {
  const providers = ['openai', 'anthropic', 'responses'].map((protocol, place) => ({
    ...{ id: protocol, protocol, base_url: urls[place], api_key: 'none' },
  }));
  const models = providers.map(({ id }) => ({
    ...{ id, endpoints: ['chat', 'messages'], context_length: 128_000, max_output_tokens: 1_000 },
    ...{ pricing: { prompt: '0.000001', completion: '0.000001' }, routes: [{ provider: id, model: 'any' }] },
  }));
  return JSON.stringify({
    ...{ providers, models },
    limits: { requests_per_minute: 100_000, tokens_per_minute: 1_000_000_000, concurrency: 100 },
  });
}

describe.each(['openai', 'anthropic', 'responses'])('a call of a model behind the protocol %s', (model) => {
  test.each([
    ['chat', '/api/v1/chat/completions', { messages: MESSAGES }],
    ['chat, streamed', '/api/v1/chat/completions', { messages: MESSAGES, stream: true }],
    ['chat with tools', '/api/v1/chat/completions', { messages: MESSAGES, tools: TOOLS }],
    ['chat with functions', '/api/v1/chat/completions', { messages: MESSAGES, functions: FUNCTIONS }],
    ['messages', '/vendorx/v1/messages', { messages: MESSAGES, max_tokens: 100 }],
    ['messages with tools', '/vendorx/v1/messages', TOOL_TURNS],
    ['messages, streamed', '/vendorx/v1/messages', { messages: MESSAGES, max_tokens: 100, stream: true }],
    ['responses', '/v1/responses', { input: 'Count to three.' }],
    ['responses, streamed', '/v1/responses', { input: 'Count to three.', stream: true }],
  ])('%s: its objects share their hidden classes with those of other calls', async (_name, path, body) => {
    await callTimes(WARM_UP_CALLS, path, { model, ...body });
    const from = (await stat(log)).size;
    await callTimes(CALLS, path, { model, ...body });
    expect(await membersThatMakeClasses(from)).toEqual([]);
  });
});

async function callTimes(calls: number, path: string, body: object): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) {
      throw new Error(text);
    }
  }
  await delay(FLUSH_MS);
}

/** Returns the names of members for which at least every second call has made a new hidden class, from V8's log behind `from`. */
async function membersThatMakeClasses(from: number): Promise<string[]> {
  const file = await open(log);
  const counts = new Map<string, number>();
  for await (const line of file.readLines({ start: from })) {
    const [kind, event, , , , , , , , name] = line.split(',');
    // symbols belong to Node and its libraries
    if (kind === 'map' && event === 'Transition' && name && !name.startsWith('symbol(')) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts].filter(([, count]) => count >= CALLS / 2).map(([name]) => name);
}
