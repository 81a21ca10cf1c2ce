import { expect, test } from '@jest/globals';
import { capsApart, capsThinkingApart } from './thinking-cap.ts';

test.each([
  ['https://dashscope.aliyuncs.com/compatible-mode/v1', true],
  ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', true],
  ['https://coding.dashscope.aliyuncs.com/v1', true],
  ['https://api.openai.com/v1', false],
  ['https://aliyuncs.com.example.org/v1', false],
])('%s caps thinking apart: %s', (url, apart) => {
  expect(capsThinkingApart(url)).toBe(apart);
});

const caps = (body: object, maxOutputTokens = 1_000, model = 'qwen-plus', reasons = false) =>
  capsApart({ body: { ...body }, maxOutputTokens, model, reasons });

test.each([
  [{}, { tokens: 1_000 }],
  [{ enable_thinking: false, thinking_budget: 50 }, { tokens: 1_000 }],
  [{ reasoning_effort: 'none' }, { tokens: 1_000 }],
  [{ thinking: { type: 'disabled' } }, { tokens: 1_000 }],
  [{ enable_thinking: true }, { tokens: 500, thinking_budget: 500 }],
  [{ reasoning_effort: 'high' }, { tokens: 500, thinking_budget: 500 }],
  [{ thinking: { type: 'enabled' } }, { tokens: 500, thinking_budget: 500 }],
  [{ reasoning: { enabled: true } }, { tokens: 500, thinking_budget: 500 }],
  [{ thinking_budget: 100 }, { tokens: 900, thinking_budget: 100 }],
  [
    { enable_thinking: true, thinking_budget: 38_912 },
    { tokens: 1, thinking_budget: 999 },
  ],
  [
    { enable_thinking: true, thinking_budget: -1 },
    { tokens: 999, thinking_budget: 1 },
  ],
  [
    { enable_thinking: true, thinking_budget: 0.5 },
    { tokens: 999, thinking_budget: 1 },
  ],
])('divides a cap of 1,000 tokens of %j into %j', (body, divided) => {
  expect(caps(body)).toEqual(divided);
});

test('divides the cap of models that think unasked', () => {
  expect(caps({}, 1_000, 'qwen-plus', true)).toEqual({ tokens: 500, thinking_budget: 500 });
  for (const model of ['qwen3.5-plus', 'Qwen3-235b-a22b-thinking-2507', 'qwen4-max']) {
    expect(caps({}, 1_000, model)).toEqual({ tokens: 500, thinking_budget: 500 });
  }
  expect(caps({ enable_thinking: false }, 1_000, 'qwen3.5-plus')).toEqual({ tokens: 1_000 });
});

test('tells the model not to think when the cap has no room for it', () => {
  const none = { tokens: 1, thinking_budget: undefined, enable_thinking: false };
  expect(caps({ enable_thinking: true, thinking_budget: 81_920 }, 1)).toEqual(none);
});
