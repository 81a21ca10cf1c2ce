import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import {
  APICallError,
  generateObject,
  generateText,
  jsonSchema,
  type LanguageModel,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { eventually } from '../factories/eventually.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

const SENTENCE = 'The quick brown fox jumps over the lazy dog';
const MODELS = ['to/openai', 'to/anthropic'];
const PROVIDERS = ['openai-compatible', 'anthropic', 'openrouter'] as const;
const CASES = PROVIDERS.flatMap((provider) => MODELS.map((id) => [provider, id] as const));

let upstreams: Record<string, UpstreamServer>;
let gateway: Gateway;

beforeAll(async () => {
  upstreams = { 'to/openai': await startOpenAiUpstream(), 'to/anthropic': await startAnthropicUpstream() };
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: upstreams['to/openai']!.url, on_disconnect: 'abort' },
      {
        id: 'anthropic',
        protocol: 'anthropic',
        base_url: upstreams['to/anthropic']!.url,
        on_disconnect: 'abort',
      },
      { id: 'builtin', protocol: 'builtin' },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt' }]),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }]),
      model('to/builtin', [{ provider: 'builtin', model: 'builtin' }]),
    ],
  });
});

beforeEach(() => {
  for (const upstream of Object.values(upstreams)) {
    upstream.reset();
  }
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all(Object.values(upstreams).map((upstream) => upstream.close()));
});

function languageModel(provider: (typeof PROVIDERS)[number], id: string): LanguageModel {
  const baseURL = `${gateway.url}/api/v1`;
  switch (provider) {
    case 'openai-compatible':
      return createOpenAICompatible({
        name: 'tollgate',
        apiKey: 'k',
        baseURL,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(id);
    case 'anthropic':
      return createAnthropic({ apiKey: 'k', baseURL: `${gateway.url}/v1` })(id);
    case 'openrouter':
      return createOpenRouter({ apiKey: 'k', baseURL })(id);
  }
}

describe.each(CASES)('ai with %s %s', (provider, id) => {
  test('returns a plain answer', async () => {
    const { text, finishReason, usage } = await generateText({
      model: languageModel(provider, id),
      prompt: 'hello',
    });
    expect({ text, finishReason }).toEqual({ text: SENTENCE, finishReason: 'stop' });
    expect(usage).toMatchObject({ inputTokens: 20, outputTokens: 9 });
  });

  test('streams an answer', async () => {
    const result = streamText({ model: languageModel(provider, id), prompt: 'hello' });
    let text = '';
    for await (const piece of result.textStream) {
      text += piece;
    }
    expect(text).toBe(SENTENCE);
    expect(await result.finishReason).toBe('stop');
    expect(await result.usage).toMatchObject({ inputTokens: 20, outputTokens: 9 });
  });

  test.each([false, true])('runs a tool loop (stream: %s)', async (stream) => {
    const weather = tool({
      description: 'Weather of a city',
      inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
      execute: async ({ city }) => `21 °C in ${city}`,
    });
    const options = {
      model: languageModel(provider, id),
      prompt: 'hello',
      tools: { weather },
      stopWhen: stepCountIs(2),
    };
    let steps: readonly { toolResults: readonly unknown[] }[];
    let text: string;
    if (stream) {
      const result = streamText(options);
      await result.consumeStream();
      steps = await result.steps;
      text = await result.text;
    } else {
      const result = await generateText(options);
      ({ steps, text } = result);
    }
    expect(steps[0]?.toolResults).toMatchObject([
      { toolName: 'weather', input: { city: 'Paris' }, output: '21 °C in Paris' },
    ]);
    expect(text).toBe(SENTENCE);
    expect(JSON.stringify(upstreams[id]!.last.body)).toContain('21 °C in Paris');
  });

  test('reports a provider error as an APICallError with our status and message', async () => {
    upstreams[id]!.reset({ fault: 'overloaded' });
    const error = await generateText({
      model: languageModel(provider, id),
      prompt: 'x',
      maxRetries: 0,
    }).catch((caught: unknown) => caught);
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: 503, isRetryable: true });
    // the Anthropic provider of `ai` reads messages only from Anthropic's own envelope; ours is a closed format
    const { message, responseBody } = error as APICallError;
    expect(provider === 'anthropic' ? responseBody : message).toContain('the model is overloaded');
  });

  test('stops the provider on abort', async () => {
    upstreams[id]!.reset({ tokenDelayMs: 50 });
    const controller = new AbortController();
    const before = gateway.ledger.settlements.length;
    const result = streamText({
      model: languageModel(provider, id),
      prompt: 'x',
      abortSignal: controller.signal,
    });
    let pieces = 0;
    for await (const _ of result.textStream) {
      pieces += 1;
      if (pieces === 2) {
        controller.abort();
      }
    }
    await eventually(async () => gateway.ledger.settlements.length === before + 1);
    expect(gateway.ledger.last.status).toBe('cancelled');
    await eventually(async () => upstreams[id]!.last.abortedAt !== undefined);
  });
});

test.each(PROVIDERS)('%s gets an object from the builtin model', async (provider) => {
  const schema = jsonSchema<{ city: string; degrees: number }>({
    type: 'object',
    properties: { city: { type: 'string' }, degrees: { type: 'number' } },
    required: ['city', 'degrees'],
    additionalProperties: false,
  });
  const { object } = await generateObject({
    model: languageModel(provider, 'to/builtin'),
    prompt: 'x',
    schema,
  });
  expect(object).toEqual({ city: 'example', degrees: 1 });
});
