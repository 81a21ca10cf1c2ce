// The Vercel AI SDK with its default providers: OpenAI's speaks Responses. The first argument selects one.

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import {
  embed,
  generateImage,
  generateObject,
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { ASK, EMPTY_KEY, KEY, model, run, URL, WEATHER } from './cases.mjs';

const KIND = process.argv[2];

function chat(name = 'chat', apiKey = KEY) {
  return KIND === 'anthropic'
    ? createAnthropic({ baseURL: `${URL}/v1`, apiKey })(model(name))
    : createOpenAI({ baseURL: `${URL}/api/v1`, apiKey })(model(name));
}

// otherwise the SDK refers to earlier answers by id instead of sending them
const providerOptions = { openai: { store: false } };
const ask = (name, { apiKey, ...more } = {}) =>
  generateText({
    model: chat(name, apiKey),
    prompt: ASK,
    maxRetries: 0,
    maxOutputTokens: 200,
    providerOptions,
    ...more,
  });

async function read(name, options) {
  let failure;
  const onError = ({ error }) => {
    failure = error;
  };
  const answer = streamText({
    model: chat(name),
    prompt: ASK,
    maxRetries: 0,
    maxOutputTokens: 200,
    onError,
    ...options,
  });
  let text = '';
  for await (const delta of answer.textStream) {
    text += delta;
  }
  if (failure) {
    throw failure;
  }
  return { text, finish: await answer.finishReason };
}

await run({
  async simple() {
    const { text, finishReason } = await ask('chat');
    return { text, finish: finishReason };
  },
  stream: () => read('chat'),
  async tools() {
    let city;
    const weather = tool({
      description: 'Tells the weather',
      inputSchema: jsonSchema(WEATHER),
      execute: async (input) => {
        city = input.city;
        return 'sunny';
      },
    });
    const { text } = await ask('chat', { tools: { weather }, stopWhen: stepCountIs(2) });
    return { city, text };
  },
  async structured() {
    const { object } = await generateObject({
      ...{ model: chat('structured'), prompt: ASK, maxRetries: 0, maxOutputTokens: 200, providerOptions },
      schema: jsonSchema(WEATHER),
    });
    return { city: object.city };
  },
  async usage() {
    const { usage } = await ask('cached');
    const cached = usage.inputTokenDetails?.cacheReadTokens ?? usage.cachedInputTokens;
    return { input: usage.inputTokens, output: usage.outputTokens, cached };
  },
  'wrong key': () => ask('chat', { apiKey: 'sk-tg-v1-wrong' }),
  'no credits': () => ask('chat', { apiKey: EMPTY_KEY }),
  'bad request': () => ask('chat', { topP: 9 }),
  'unknown model': () => ask('none'),
  'rate limit': () => ask('limited'),
  'provider fails': () => ask('failing'),
  'breaks off': () => read('breaking'),
  async cancel() {
    const left = new AbortController();
    const answer = streamText({
      model: chat('patient'),
      prompt: ASK,
      maxRetries: 0,
      abortSignal: left.signal,
      onError() {},
    });
    let chunks = 0;
    for await (const _ of answer.textStream) {
      chunks += 1;
      if (chunks === 3) {
        left.abort();
        break;
      }
    }
    return { chunks };
  },
  'time-out': () => ask('slow', { abortSignal: AbortSignal.timeout(500) }),
  async embeddings() {
    const openai = createOpenAI({ baseURL: `${URL}/api/v1`, apiKey: KEY });
    const { embedding } = await embed({
      model: openai.embedding('tollgate/embed'),
      value: ASK,
      maxRetries: 0,
    });
    return { dimensions: embedding.length };
  },
  async images() {
    const openai = createOpenAI({ baseURL: `${URL}/api/v1`, apiKey: KEY });
    const prompt = 'a lighthouse';
    const { image } = await generateImage({ model: openai.image('image-turbo'), prompt, size: '512x512' });
    return { bytes: image.uint8Array.length };
  },
});
