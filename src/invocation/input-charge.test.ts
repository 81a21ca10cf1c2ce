import fc from 'fast-check';
import { AT_ONCE } from '../lib/event-loop-queue.ts';
import { atOnce } from '../lib/steps.ts';
import { countTokens } from '../providers/token-counter.ts';
import { inputContent } from './input-content.ts';
import { countInput, type EstimateLimits, estimateInput, type InputEstimate } from './input-estimate.ts';
import { boundedMargin } from './input-margin.ts';
import { ITEM_KINDS } from './input-media.ts';

/** What is charged for an input when the provider reports nothing. */

const ITEM_TOKENS = { image: 2_000, file: 20_000, audio: 3_000, video: 30_000 };
const LIMITS: EstimateLimits = { contextLength: 1_000_000, itemTokens: ITEM_TOKENS };

async function estimate(messages: readonly object[], limits = LIMITS): Promise<InputEstimate> {
  const counted = await countInput(atOnce(inputContent({ messages })), limits, AT_ONCE);
  return estimateInput(counted, limits, boundedMargin(undefined, 'chat'));
}

const PARTS = {
  image: { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
  file: { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE' } },
  audio: { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
  video: { type: 'video_url', video_url: { url: 'https://x.example/a.mp4' } },
};

test.each(ITEM_KINDS)(
  'an item of kind %s counts as the most that the model declares, or as a typical one',
  async (kind) => {
    const messages = [{ role: 'user', content: [PARTS[kind], { type: 'text', text: 'what is it' }] }];
    const declared = await estimate(messages);
    expect(declared.charged).toBeGreaterThan(ITEM_TOKENS[kind]);
    expect(declared.charged).toBeLessThan(ITEM_TOKENS[kind] + 20);
    const open = await estimate(messages, { contextLength: 1_000_000, itemTokens: {} });
    expect(open.charged).toBeGreaterThan(500);
    expect(open.charged).toBeLessThan(20_000);
  },
);

const THOUGHT = 'First the harbour must be dredged, then the crane can be moved. '.repeat(400);
const THOUGHT_TOKENS = countTokens(THOUGHT);
const detail = { type: 'reasoning.text', text: THOUGHT, signature: 'abc', index: 0 };

test.each<[string, object]>([
  ['reasoning_content', { content: 'yes', reasoning_content: THOUGHT }],
  ['reasoning', { content: 'yes', reasoning: THOUGHT }],
  ['the longer of two members', { content: 'yes', reasoning_content: 'x', reasoning: THOUGHT }],
  [
    'the same under three names',
    { reasoning_content: THOUGHT, reasoning: THOUGHT, reasoning_details: [detail] },
  ],
  ['details', { content: 'yes', reasoning_details: [detail] }],
  ['a summary in details', { reasoning_details: [{ type: 'reasoning.summary', summary: THOUGHT }] }],
  ['a thinking block', { content: [{ type: 'thinking', thinking: THOUGHT, signature: 'abc' }] }],
  [
    'a thinking part in pieces',
    { content: [{ type: 'thinking', thinking: [{ type: 'text', text: THOUGHT }] }] },
  ],
])('earlier reasoning is charged once: %s', async (_what, members) => {
  const input = await estimate([
    { role: 'assistant', ...members },
    { role: 'user', content: 'go on' },
  ]);
  expect(input.charged).toBeGreaterThan(THOUGHT_TOKENS);
  expect(input.charged).toBeLessThan(THOUGHT_TOKENS + 60);
  expect(input.upperBound).toBeGreaterThan(input.charged);
  // a provider may drop it, so it is no reason to reject a request
  expect(input.tokens).toBeLessThan(60);
});

const message = fc.record({
  role: fc.constantFrom('user', 'assistant'),
  content: fc.array(fc.constantFrom<object>(...Object.values(PARTS), { type: 'text', text: 'some words' }), {
    maxLength: 6,
  }),
  reasoning_content: fc.option(fc.string({ maxLength: 200 }), { nil: undefined }),
});

test('nothing is free, and the hold covers what would be charged', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      async (messages, known) => {
        const itemTokens = known ? ITEM_TOKENS : { image: 2_000 };
        const { tokens, charged, upperBound } = await estimate(messages, {
          contextLength: 2_000_000,
          itemTokens,
        });
        const parts = messages.flatMap(({ content }) => content);
        const items = ITEM_KINDS.reduce((sum, kind) => {
          const count = parts.filter((part) => part === PARTS[kind]).length;
          return sum + count * (known ? ITEM_TOKENS[kind] : 500);
        }, 0);
        expect(charged).toBeGreaterThanOrEqual(items);
        expect(charged).toBeGreaterThanOrEqual(tokens);
        expect(upperBound).toBeGreaterThanOrEqual(charged);
      },
    ),
    { numRuns: 200 },
  );
});
