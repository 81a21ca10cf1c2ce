import { expect, test } from '@jest/globals';
import { capFieldOf, capsApart, thinkingCapOf } from './thinking-cap.ts';

const DASHSCOPE = 'https://dashscope.aliyuncs.com/compatible-mode/v1';
const SILICONFLOW = 'https://api.siliconflow.cn/v1';

test.each([
  [DASHSCOPE, true],
  ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', true],
  ['https://coding.dashscope.aliyuncs.com/v1', true],
  [SILICONFLOW, true],
  ['https://api.siliconflow.com/v1', true],
  ['https://api.openai.com/v1', false],
  ['https://aliyuncs.com.example.org/v1', false],
  ['https://notsiliconflow.com/v1', false],
])('%s caps thinking apart: %s', (base_url, apart) => {
  expect(thinkingCapOf({ base_url }) !== undefined).toBe(apart);
});

test('the operator says what the cap covers', () => {
  expect(thinkingCapOf({ base_url: DASHSCOPE, max_tokens_covers: 'everything' })).toBeUndefined();
  expect(thinkingCapOf({ base_url: 'http://127.0.0.1/v1', max_tokens_covers: 'answer' })).toBeDefined();
});

const FOUNDRY = 'https://mine.services.ai.azure.com/openai/v1';

test.each([
  ['https://ark.cn-beijing.volces.com/api/v3', 'doubao-seed-1.6', 'max_completion_tokens'],
  ['https://ark.ap-southeast.bytepluses.com/api/v3', 'seed-1.6', 'max_completion_tokens'],
  ['https://api.openai.com/v1', 'gpt-4.1', 'max_completion_tokens'],
  ['https://eu.api.openai.com/v1', 'gpt-6-astra', 'max_completion_tokens'],
  [FOUNDRY, 'o3', 'max_completion_tokens'],
  [FOUNDRY, 'gpt-5-mini', 'max_completion_tokens'],
  [FOUNDRY, 'gpt-35-turbo', 'max_tokens'],
  [FOUNDRY, 'Mistral-Large-3', 'max_tokens'],
  ['https://mine.openai.azure.com/openai/deployments/mine', 'mine', 'max_completion_tokens'],
  ['https://openrouter.ai/api/v1', 'openai/gpt-5', 'max_tokens'],
  ['http://127.0.0.1:8000/v1', 'gpt-oss-120b', 'max_tokens'],
  ['https://volces.com.example.org/v1', 'doubao', 'max_tokens'],
])('caps the output at %s of %s by %s', (base_url, name, field) => {
  expect(capFieldOf({ base_url })(name)).toBe(field);
  expect(capFieldOf({ base_url, max_tokens_field: 'max_tokens' })(name)).toBe('max_tokens');
});

const caps = (
  body: object,
  maxOutputTokens = 1_000,
  model = 'qwen-plus',
  reasons = false,
  base_url = DASHSCOPE,
) => {
  const apart = thinkingCapOf({ base_url, max_tokens_covers: 'answer' });
  return apart && capsApart({ body: { ...body }, maxOutputTokens, model, reasons }, apart);
};

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
  for (const model of [
    'qwen3.5-plus',
    'Qwen3-235b-a22b-thinking-2507',
    'qwen4-max',
    'qwen3-32b',
    'qwen3-0.6b',
  ]) {
    expect(caps({}, 1_000, model)).toEqual({ tokens: 500, thinking_budget: 500 });
  }
  expect(caps({ enable_thinking: false }, 1_000, 'qwen3.5-plus')).toEqual({ tokens: 1_000 });
  expect(caps({}, 1_000, 'qwen3-30b-a3b-instruct-2507')).toEqual({ tokens: 1_000 });
});

test('tells the model not to think when the cap has no room for it', () => {
  const none = { tokens: 1, thinking_budget: undefined, enable_thinking: false };
  expect(caps({ enable_thinking: true, thinking_budget: 81_920 }, 1)).toEqual(none);
});

test.each([
  ['Qwen/Qwen3-8B', true],
  ['Qwen/Qwen3-235B-A22B-Thinking-2507', true],
  ['Qwen/Qwen3-VL-32B-Thinking', true],
  ['Qwen/QwQ-32B', true],
  ['Pro/deepseek-ai/DeepSeek-R1', true],
  ['deepseek-ai/DeepSeek-V3.2', true],
  ['deepseek-ai/DeepSeek-V4-Flash', true],
  ['THUDM/GLM-Z1-32B-0414', true],
  ['Pro/zai-org/GLM-5', true],
  ['tencent/Hunyuan-A13B-Instruct', true],
  ['moonshotai/Kimi-K2-Thinking', true],
  ['Qwen/Qwen3-235B-A22B-Instruct-2507', false],
  ['Qwen/Qwen3-Coder-30B-A3B-Instruct', false],
  ['Qwen/Qwen2.5-72B-Instruct', false],
  ['deepseek-ai/DeepSeek-V3', false],
  ['moonshotai/Kimi-K2-Instruct', false],
  ['THUDM/glm-4-9b-chat', false],
])('%s thinks at SiliconFlow unasked: %s', (model, thinks) => {
  const divided = thinks ? { tokens: 500, thinking_budget: 500 } : { tokens: 1_000 };
  expect(caps({}, 1_000, model, false, SILICONFLOW)).toEqual(divided);
});

test.each([
  [128, { tokens: 128, thinking_budget: undefined, enable_thinking: false }],
  [129, { tokens: 1, thinking_budget: 128 }],
  [200, { tokens: 72, thinking_budget: 128 }],
  [100_000, { tokens: 67_232, thinking_budget: 32_768 }],
])('keeps the budget of a cap of %d within what SiliconFlow accepts', (cap, divided) => {
  expect(caps({}, cap, 'Qwen/Qwen3-8B', false, SILICONFLOW)).toEqual(divided);
});
