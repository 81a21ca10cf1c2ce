import { LoopTurns } from '../lib/loop-turns.ts';
import { countTokens } from '../providers/token-counter.ts';
import { type EstimateLimits, estimateInput, inputContent } from './input-estimate.ts';

const LIMITS: EstimateLimits = { contextLength: 1_000_000, imageTokens: undefined, dialects: ['chat'] };

function estimate(body: object, limits: Partial<EstimateLimits> = {}) {
  return estimateInput(inputContent({ ...body }), { ...LIMITS, ...limits }, new LoopTurns());
}

const ENGLISH = 'The treaty was signed in the autumn, after years of patient work by both sides. ';
const CODE = 'export function add(a: number, b: number): number {\n  return a + b;\n}\n';
const CHINESE = '条约是在双方多年耐心工作之后于秋天签署的。';

test.each([
  ['English', ENGLISH],
  ['code', CODE],
  ['Chinese', CHINESE],
])('the bound covers the count of %s and is not wildly above it', async (_what, text) => {
  const content = text.repeat(40);
  const truth = countTokens(content);
  const { tokens, upperBound } = await estimate({ messages: [{ role: 'user', content }] });
  expect(tokens).toBeGreaterThanOrEqual(truth);
  expect(tokens).toBeLessThan(truth + 10);
  expect(upperBound).toBeGreaterThanOrEqual(tokens);
  expect(upperBound).toBeLessThan(truth * (text === CHINESE ? 3.2 : 1.4));
});

test('counts system, tools, tool calls and results of both dialects', async () => {
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
  for (const text of ['AAA', 'BBB', 'TTT', 'FFF', 'look_up', 'Nowhere']) {
    expect(chat.text).toContain(text);
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

test('images count by number, not by size; their bytes are not text', async () => {
  const data = `data:image/png;base64,${'A'.repeat(1_000_000)}`;
  const content = [
    { type: 'image_url', image_url: { url: data } },
    { type: 'text', text: 'what is it' },
  ];
  const one = await estimate({ messages: [{ role: 'user', content }] });
  expect(one).toMatchObject({ images: 1 });
  expect(one.upperBound).toBeLessThan(1_700);
  const dear = await estimate({ messages: [{ role: 'user', content }] }, { imageTokens: 5_000 });
  expect(dear.upperBound).toBeGreaterThan(5_000);
});

test('a text longer than the context is refused, quickly', async () => {
  const content = ENGLISH.repeat(100_000);
  const startedAt = performance.now();
  await expect(estimate({ messages: [{ content }] }, { contextLength: 1_000 })).rejects.toMatchObject({
    code: 'context_length_exceeded',
  });
  expect(performance.now() - startedAt).toBeLessThan(500);
});

test('no bound is above the context', async () => {
  const content = ENGLISH.repeat(50);
  const truth = countTokens(content);
  const { upperBound } = await estimate({ messages: [{ content }] }, { contextLength: truth + 20 });
  expect(upperBound).toBe(truth + 20);
});
