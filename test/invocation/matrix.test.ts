import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { eventually } from '../factories/eventually.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SENTENCE = 'The quick brown fox jumps over the lazy dog';

let openaiUpstream: UpstreamServer;
let anthropicUpstream: UpstreamServer;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  openaiUpstream = await startOpenAiUpstream();
  anthropicUpstream = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [
      {
        id: 'one',
        protocol: 'openai',
        base_url: openaiUpstream.url,
        api_key: 'sk-upstream-key',
        on_disconnect: 'abort',
      },
      {
        id: 'two',
        protocol: 'anthropic',
        base_url: anthropicUpstream.url,
        api_key: 'sk-upstream-key',
        on_disconnect: 'abort',
      },
    ],
    models: [
      model('to/openai', [{ provider: 'one', model: 'gpt' }]),
      model('to/anthropic', [{ provider: 'two', model: 'claude' }]),
    ],
  });
  openai = new OpenAI({ apiKey: 'sk-customer', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'sk-customer', baseURL: gateway.url, maxRetries: 0 });
});

afterAll(async () => {
  await gateway?.close();
  await openaiUpstream?.close();
  await anthropicUpstream?.close();
});

interface Result {
  readonly text: string;
  readonly tools: readonly { name: string; input: unknown }[];
  /** In the terms of chat. */
  readonly finish: string | null | undefined;
  readonly id: string;
  readonly model: string;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

interface Ask {
  readonly model: string;
  readonly prompt?: string;
  readonly image?: 'data' | 'url';
  readonly tools?: boolean;
  readonly stop?: string;
  readonly signal?: AbortSignal;
}

type Client = (ask: Ask) => Promise<Result>;

const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const IMAGE_URL = 'https://images.example/cat.png';

function chatParams(ask: Ask) {
  const text = { type: 'text' as const, text: ask.prompt ?? 'Say something' };
  const url = ask.image === 'data' ? `data:image/png;base64,${PNG}` : IMAGE_URL;
  const content = ask.image ? [text, { type: 'image_url' as const, image_url: { url } }] : text.text;
  return {
    model: ask.model,
    messages: [
      { role: 'system' as const, content: 'Be brief.' },
      { role: 'user' as const, content },
    ],
    ...(ask.stop ? { stop: [ask.stop] } : {}),
    ...(ask.tools
      ? { tools: [{ type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }] }
      : {}),
  };
}

function messagesParams(ask: Ask) {
  const text = { type: 'text' as const, text: ask.prompt ?? 'Say something' };
  const source =
    ask.image === 'data'
      ? { type: 'base64' as const, media_type: 'image/png' as const, data: PNG }
      : { type: 'url' as const, url: IMAGE_URL };
  const content = ask.image ? [text, { type: 'image' as const, source }] : text.text;
  return {
    model: ask.model,
    max_tokens: 1_000,
    system: 'Be brief.',
    messages: [{ role: 'user' as const, content }],
    ...(ask.stop ? { stop_sequences: [ask.stop] } : {}),
    ...(ask.tools ? { tools: [{ name: 'weather', input_schema: SCHEMA }] } : {}),
  };
}

const FINISH: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  max_tokens: 'length',
  tool_use: 'tool_calls',
};

const chatJson: Client = async (ask) => {
  const answer = await openai.chat.completions.create(chatParams(ask), { signal: ask.signal });
  return chatResult(answer);
};

const chatStream: Client = async (ask) => {
  const stream = openai.chat.completions.stream({ ...chatParams(ask), stream: true }, { signal: ask.signal });
  return chatResult(await stream.finalChatCompletion());
};

function chatResult(answer: OpenAI.ChatCompletion): Result {
  const [choice] = answer.choices;
  return {
    text: choice?.message.content ?? '',
    tools: (choice?.message.tool_calls ?? []).map((call) => {
      const { name, arguments: args } = (call as OpenAI.ChatCompletionMessageFunctionToolCall).function;
      return { name, input: JSON.parse(args) };
    }),
    finish: choice?.finish_reason,
    id: answer.id,
    model: answer.model,
    inputTokens: answer.usage?.prompt_tokens,
    outputTokens: answer.usage?.completion_tokens,
  };
}

const messagesJson: Client = async (ask) =>
  messagesResult(await anthropic.messages.create(messagesParams(ask), { signal: ask.signal }));

const messagesStream: Client = async (ask) =>
  messagesResult(await anthropic.messages.stream(messagesParams(ask), { signal: ask.signal }).finalMessage());

function messagesResult(answer: Anthropic.Message): Result {
  return {
    text: answer.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    tools: answer.content.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [],
    ),
    finish: FINISH[answer.stop_reason ?? ''],
    id: answer.id,
    model: answer.model,
    inputTokens: answer.usage.input_tokens,
    outputTokens: answer.usage.output_tokens,
  };
}

const CLIENTS: [string, Client][] = [
  ['chat as JSON', chatJson],
  ['chat as SSE', chatStream],
  ['messages as JSON', messagesJson],
  ['messages as SSE', messagesStream],
];
const MODELS = ['to/openai', 'to/anthropic'];
const CASES = CLIENTS.flatMap(([name, client]) => MODELS.map((id) => [name, id, client] as const));

describe.each(CASES)('%s %s', (_name, modelId, ask) => {
  const upstream = () => (modelId === 'to/openai' ? openaiUpstream : anthropicUpstream);
  const isStream = _name.endsWith('SSE');

  beforeEach(() => {
    openaiUpstream.reset();
    anthropicUpstream.reset();
  });

  afterEach(() => {
    expect(gateway?.ledger.held ?? 0n).toBe(0n);
  });

  test('returns text', async () => {
    const result = await ask({ model: modelId });
    expect(result).toMatchObject({ text: SENTENCE, tools: [], finish: 'stop', model: modelId });
    expect(result).toMatchObject({ inputTokens: 20, outputTokens: 9 });
    expect(result.id).toMatch(/^gen-[0-9A-Z]{26}$/);
    expect(gateway.ledger.last).toMatchObject({
      status: 'completed',
      usageSource: 'provider',
      finishReason: 'stop',
      streamed: isStream,
      error: null,
    });
    expect(gateway.ledger.last.charge.amount).toBe(20n * 1_000n + 9n * 2_000n);
    const sent = JSON.stringify(upstream().last);
    expect(sent).toContain('Be brief.');
    expect(sent).not.toContain('sk-customer');
    expect(sent).not.toContain('to/openai');
  });

  test('calls tools in parallel', async () => {
    const result = await ask({ model: modelId, tools: true, prompt: 'weather of both' });
    expect(result.tools).toEqual([
      { name: 'weather', input: { city: 'Paris' } },
      { name: 'weather', input: { city: 'Oslo' } },
    ]);
    expect(result).toMatchObject({ text: '', finish: 'tool_calls', outputTokens: 24 });
  });

  test.each(['data', 'url'] as const)('accepts an image by %s URL', async (image) => {
    const result = await ask({ model: modelId, image });
    expect(result.text).toBe(`1 image: ${SENTENCE}`);
    expect(JSON.stringify(upstream().last.body)).toContain(image === 'data' ? PNG : IMAGE_URL);
  });

  test('ends at a stop sequence', async () => {
    const result = await ask({ model: modelId, stop: 'fox' });
    expect(result).toMatchObject({ text: 'The quick brown', finish: 'stop', outputTokens: 3 });
  });

  test('reports an error of the provider', async () => {
    upstream().reset({ fault: 'unauthorized' });
    const error = await ask({ model: modelId }).catch((caught: unknown) => caught);
    const type = _name.startsWith('chat') ? OpenAI.InternalServerError : Anthropic.InternalServerError;
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ status: 502 });
    expect(String(error)).toContain('its operator has to fix that');
    expect((error as { headers: Headers }).headers.get('x-should-retry')).toBe('false');
    expect(JSON.stringify(error)).not.toContain('secret');
    expect(gateway.ledger.last).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
    expect(gateway.ledger.last.charge.amount).toBe(0n);
  });

  test('stops when the client aborts', async () => {
    // the whole answer takes at least 1.8 s, enough time even for a machine that stalls for a while
    upstream().reset({ tokenDelayMs: 200 });
    const controller = new AbortController();
    const settled = gateway.ledger.settlements.length;
    const pending = ask({ model: modelId, signal: controller.signal }).catch((caught: unknown) => caught);
    await eventually(async () => upstream().requests.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 900));
    controller.abort();
    const error = await pending;
    const type = _name.startsWith('chat') ? OpenAI.APIUserAbortError : Anthropic.APIUserAbortError;
    expect(error).toBeInstanceOf(type);
    await eventually(
      async () =>
        gateway.ledger.settlements.length === settled + 1 && upstream().last.abortedAt !== undefined,
    );
    expect(gateway.ledger.last).toMatchObject({
      status: 'cancelled',
      error: { code: 'client_closed' },
    });
    const { outputTokens, inputTokens } = gateway.ledger.last.usage;
    expect(outputTokens).toBeGreaterThanOrEqual(isStream ? 1 : 0);
    expect(outputTokens).toBeLessThan(isStream ? SENTENCE.split(' ').length : 1);
    // a client that got nothing does not pay, within the allowance
    expect(gateway.ledger.last.charge.amount).toBe(
      isStream ? BigInt(inputTokens) * 1_000n + BigInt(outputTokens) * 2_000n : 0n,
    );
  });
});
