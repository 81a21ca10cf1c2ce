import sharp from 'sharp';
import { EventLoopQueue } from '../lib/event-loop-queue.ts';
import { atOnce } from '../lib/steps.ts';
import type { JsonObject } from '../providers/json.ts';
import { countTokens } from '../providers/token-counter.ts';
import { inputContent as contentInSteps } from './input-content.ts';
import { countInput, type EstimateLimits, estimateInput, type InputEstimate } from './input-estimate.ts';
import { boundedMargin } from './input-margin.ts';

const inputContent = (body: JsonObject) => atOnce(contentInSteps(body));

const LIMITS: EstimateLimits = { contextLength: 1_000_000, itemTokens: { image: 1_600 } };

async function estimate(body: object, changes: Partial<EstimateLimits> = {}): Promise<InputEstimate> {
  const limits = { ...LIMITS, ...changes };
  const turns = new EventLoopQueue();
  const counted = await countInput(inputContent({ ...body }), limits, (steps) => turns.run('a', steps));
  return estimateInput(counted, limits, boundedMargin(undefined, 'chat'));
}

const ENGLISH = 'The treaty was signed in the autumn, after years of patient work by both sides. ';
const CODE = 'export function add(a: number, b: number): number {\n  return a + b;\n}\n';
const CHINESE = '条约是在双方多年耐心工作之后于秋天签署的。';

test.each([
  ['English', ENGLISH],
  ['code', CODE],
  ['Chinese', CHINESE],
])('the bound covers the count of %s and is not far above it', async (_what, text) => {
  const content = text.repeat(40);
  const truth = countTokens(content);
  const { tokens, upperBound } = await estimate({ messages: [{ role: 'user', content }] });
  expect(tokens).toBeGreaterThanOrEqual(truth);
  expect(tokens).toBeLessThan(truth + 10);
  expect(upperBound).toBeGreaterThanOrEqual(tokens);
  expect(upperBound).toBeLessThan(truth * (text === CHINESE ? 3.2 : 1.4));
});

/**
 * Token counts of the most expensive among the vocabularies of Llama 2, Mistral, Llama 3 and cl100k, measured. Ours counts up to 16 times
 * fewer.
 */
test.each([
  ['digits', '3141592653'.repeat(100), 1_002],
  ['a table of numbers', '40213,7,1998\n'.repeat(100), 1_302],
  ['hexadecimal', 'deadbeef00c0ffee1234'.repeat(50), 700],
  ['line ends', '\n'.repeat(1_000), 1_002],
  ['Windows line ends', '\r\n'.repeat(500), 1_001],
  ['blank lines between spaces', '    \n'.repeat(200), 401],
  ['tabs', '\t'.repeat(1_000), 1_002],
  ['spaces', ' '.repeat(1_000), 64],
  ['a line of equal signs', '='.repeat(1_000), 66],
  ['one repeated letter', 'a'.repeat(1_000), 253],
])('the bound covers %s for vocabularies that merge less than ours', async (_what, text, dearest) => {
  const { upperBound, knownBound } = await estimate({ messages: [{ role: 'user', content: text }] });
  expect(upperBound).toBeGreaterThanOrEqual(dearest);
  expect(upperBound).toBeLessThan(dearest * 1.3 + 200);
  // the room for the answer does not shrink
  expect(knownBound).toBeLessThan(countTokens(text) * 1.25 + 30);
  const apart = { role: 'user', content: `${'long '.repeat(200_000)}${text}` };
  const whole = { role: 'user', content: 'long '.repeat(200_000) };
  const limits = { contextLength: 10_000_000 };
  const more = (await estimate({ messages: [apart] }, limits)).upperBound;
  expect(more - (await estimate({ messages: [whole] }, limits)).upperBound).toBeGreaterThan(dearest * 0.98);
});

test('counts system prompts, tools, tool calls and results in both dialects', async () => {
  const call = { id: 'c', type: 'function', function: { name: 'look_up', arguments: '{"place":"Nowhere"}' } };
  const chat = inputContent({
    messages: [
      { role: 'system', content: 'AAA' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: 'BBB' },
    ],
    tools: [{ type: 'function', function: { name: 'TTT' } }],
    response_format: { type: 'json_schema', json_schema: { name: 'FFF' } },
  });
  for (const text of ['AAA', 'BBB', 'look_up', 'Nowhere']) {
    expect(chat.text).toContain(text);
  }
  for (const text of ['TTT', 'FFF']) {
    expect(chat.definitions).toContain(text);
  }
  expect(chat).toMatchObject({ messages: 3, hasTools: true });
  const messages = inputContent({
    system: [{ type: 'text', text: 'SSS' }],
    messages: [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'x', name: 'NNN', input: { deep: { er: 'III' } } }],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'x', content: [{ type: 'text', text: 'RRR' }] }],
      },
    ],
  });
  for (const text of ['SSS', 'NNN', 'III', 'RRR']) {
    expect(messages.text).toContain(text);
  }
});

test('images are counted by number, not by size, and their bytes are not text', async () => {
  const data = `data:image/png;base64,${'A'.repeat(1_000_000)}`;
  const content = [
    { type: 'image_url', image_url: { url: data } },
    { type: 'text', text: 'what is it' },
  ];
  const one = await estimate({ messages: [{ role: 'user', content }] });
  expect(one).toMatchObject({ images: 1 });
  expect(one.upperBound).toBeLessThan(1_700);
  const dear = await estimate({ messages: [{ role: 'user', content }] }, { itemTokens: { image: 5_000 } });
  expect(dear.upperBound).toBeGreaterThan(5_000);
});

/** Returns an image of one color as a data URL. */
async function imageUrl(width: number, height: number, format: 'png' | 'jpeg' | 'webp'): Promise<string> {
  const image = sharp({ create: { width, height, channels: 3, background: 'red' } });
  return `data:image/${format};base64,${(await image.toFormat(format).toBuffer()).toString('base64')}`;
}

describe('when a model counts images by their pixels', () => {
  const limits = { itemTokens: { image: 1_600 }, imagePixelsPerToken: 750 };
  const chat = (url: string) => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  });
  const messages = (url: string) => {
    const source = { type: 'base64', media_type: 'image/png', data: url.slice(url.indexOf(',') + 1) };
    return { messages: [{ role: 'user', content: [{ type: 'image', source }] }] };
  };
  const FRAMES = 30;

  test.each(['png', 'jpeg', 'webp'] as const)(
    'a %s is bounded by its size in both dialects',
    async (format) => {
      const url = await imageUrl(320, 200, format);
      for (const body of [chat(url), messages(url)]) {
        const { upperBound, tokens } = await estimate(body, limits);
        expect(upperBound).toBeGreaterThanOrEqual((320 * 200) / 750);
        expect(upperBound).toBeLessThan((320 * 224) / 750 + FRAMES);
        expect(tokens).toBeLessThan((320 * 224) / 750 + FRAMES);
      }
    },
  );

  test('a narrow image is counted in whole patches, a large one at most at the limit of the model', async () => {
    expect((await estimate(chat(await imageUrl(2, 3_000, 'png')), limits)).upperBound).toBeGreaterThan(110);
    const large = await estimate(chat(await imageUrl(4_000, 3_000, 'jpeg')), limits);
    expect(large.upperBound).toBeGreaterThanOrEqual(1_600);
    expect(large.upperBound).toBeLessThan(1_600 + FRAMES);
  });

  test.each([
    ['by URL', 'https://x.example/a.png'],
    ['that cannot be read', 'data:image/png;base64,AAAA'],
    [
      'of a type that is not read',
      `data:image/svg+xml;base64,${Buffer.from('<svg width="1" height="1"/>').toString('base64')}`,
    ],
  ])('the hold for an image %s assumes the maximum size', async (_what, url) => {
    expect((await estimate(chat(url), limits)).upperBound).toBeGreaterThanOrEqual(1_600);
  });

  test('with very many images, only the first are inspected and the others are assumed to have the maximum size', async () => {
    const url = await imageUrl(32, 32, 'png');
    const content = Array.from({ length: 70 }, () => ({ type: 'image_url', image_url: { url } }));
    const { upperBound } = await estimate({ messages: [{ role: 'user', content }] }, limits);
    expect(upperBound).toBeGreaterThanOrEqual(6 * 1_600 + 64);
    expect(upperBound).toBeLessThan(6 * 1_600 + 64 * 2 + 70 * 8 + FRAMES);
  });
});

test('a text longer than the context is rejected quickly', async () => {
  const content = ENGLISH.repeat(100_000);
  const startedAt = process.cpuUsage();
  await expect(estimate({ messages: [{ content }] }, { contextLength: 1_000 })).rejects.toMatchObject({
    code: 'context_length_exceeded',
  });
  expect(process.cpuUsage(startedAt).user).toBeLessThan(500_000);
});

test('no bound exceeds the context length', async () => {
  const content = ENGLISH.repeat(50);
  const truth = countTokens(content);
  const { upperBound } = await estimate({ messages: [{ content }] }, { contextLength: truth + 20 });
  expect(upperBound).toBe(truth + 20);
});

test('an item without a limit may fill the context, but does not reduce the room for the answer', async () => {
  const content = [{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE' } }];
  const one = await estimate({ messages: [{ role: 'user', content }] });
  expect(one.upperBound).toBe(1_000_000);
  expect(one.knownBound).toBeLessThan(100);
  const bounded = await estimate({ messages: [{ role: 'user', content }] }, { itemTokens: { file: 3_000 } });
  expect(bounded.upperBound).toBeLessThan(3_100);
});

/** The bound grows with a long text wherever it appears in the outgoing request. */
const LONG = 'the quick brown fox '.repeat(2_000);
const USER = { role: 'user', content: 'hi' };
test.each<[string, object]>([
  ['a message of an unexpected type', { messages: [{ role: 'user', type: 'tool_use', content: LONG }] }],
  ['a message that calls itself an image', { messages: [{ role: 'user', type: 'image', content: LONG }] }],
  [
    'the text of a part that calls itself a call',
    { messages: [{ content: [{ type: 'tool_use', text: LONG }] }] },
  ],
  ['the id of a call', { messages: [{ role: 'tool', tool_call_id: LONG, content: '' }] }],
  ['the id of a message', { messages: [{ ...USER, id: LONG }] }],
  ['the name of a member', { messages: [{ ...USER, [LONG]: 1 }] }],
  [
    'a cache marker',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: LONG } }] }] },
  ],
  ['a role', { messages: [{ role: LONG, content: 'a' }] }],
  ['the type of a part', { messages: [{ content: [{ type: LONG }] }] }],
  ['documents for a template', { messages: [USER], documents: [{ text: LONG }] }],
  ['a template', { messages: [USER], chat_template: LONG }],
  ['arguments of a template', { messages: [USER], chat_template_kwargs: { a: { b: LONG } } }],
  ['legacy functions', { messages: [USER], functions: [{ name: 'f', description: LONG }] }],
  ['a legacy call', { messages: [{ role: 'assistant', function_call: { name: 'f', arguments: LONG } }] }],
  ['a signature', { messages: [{ content: [{ type: 'thinking', thinking: '', signature: LONG }] }] }],
  [
    'the URL of an image',
    { messages: [{ content: [{ type: 'image_url', image_url: { url: `https://x/${LONG}` } }] }] },
  ],
  [
    'something that is not a URL',
    { messages: [{ content: [{ type: 'video_url', video_url: { url: LONG } }] }] },
  ],
  [
    'the detail of an image',
    { messages: [{ content: [{ type: 'image_url', image_url: { url: 'https://x', detail: LONG } }] }] },
  ],
  [
    'a document of text',
    { messages: [{ content: [{ type: 'document', source: { type: 'text', data: LONG } }] }] },
  ],
  [
    'a source of an unknown type',
    { messages: [{ content: [{ type: 'document', source: { type: 'odd', data: LONG } }] }] },
  ],
  [
    'a title',
    { messages: [{ content: [{ type: 'document', title: LONG, source: { type: 'text', data: '' } }] }] },
  ],
  ['a schema', { messages: [USER], response_format: { json_schema: { schema: { [LONG]: 1 } } } }],
  ['a tool', { messages: [USER], tools: [{ function: { name: 'f', parameters: { description: LONG } } }] }],
  ['extra members of a call', { messages: [{ tool_calls: [{ extra_content: { google: { a: LONG } } }] }] }],
  [
    'a result in a result',
    { messages: [{ content: [{ type: 'tool_result', content: [{ type: 'text', text: LONG }] }] }] },
  ],
  ['content of the wrong type', { messages: [{ content: { a: LONG } }] }],
  ['messages of the wrong type', { messages: [[LONG]] }],
  ['a stop sequence', { messages: [USER], stop: [LONG] }],
  ['a user', { messages: [USER], user: LONG }],
  ['settings', { messages: [USER], logit_bias: { [LONG]: 1 } }],
])('the bound covers %s', async (_what, body) => {
  const limits = { itemTokens: { image: 1_600, file: 1_600, video: 1_600 } };
  expect((await estimate(body, limits)).upperBound).toBeGreaterThan(countTokens(LONG));
});

test('files given by id are rejected', () => {
  const byId = (part: object) => () => inputContent({ messages: [{ content: [part] }] });
  expect(byId({ type: 'file', file: { file_id: 'f' } })).toThrow('file ids are not supported');
  expect(byId({ type: 'document', source: { type: 'file', file_id: 'f' } })).toThrow(
    'file ids are not supported',
  );
  expect(byId({ type: 'image', source: { file_id: 'f', type: 'url' } })).toThrow(
    'file ids are not supported',
  );
});
