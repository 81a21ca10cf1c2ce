import { readChatUsage, readMessagesUsage } from './usage-reading.ts';

const NONE = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

describe('chat', () => {
  test.each<[string, unknown, unknown]>([
    ['plain', { prompt_tokens: 10, completion_tokens: 5 }, { inputTokens: 10, outputTokens: 5, ...NONE }],
    [
      'cached and reasoning tokens are parts, not extras',
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 80 },
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputTokens: 100, outputTokens: 50, cacheReadTokens: 80, cacheWriteTokens: 0, reasoningTokens: 30 },
    ],
    [
      'xAI leaves reasoning out of completion_tokens',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 45,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { inputTokens: 10, outputTokens: 35, ...NONE, reasoningTokens: 30 },
    ],
    [
      'DeepSeek names cache hits its own way',
      { prompt_tokens: 10, completion_tokens: 5, prompt_cache_hit_tokens: 6 },
      { inputTokens: 10, outputTokens: 5, ...NONE, cacheReadTokens: 6 },
    ],
    [
      'parts never exceed their whole',
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 9 },
      },
      { inputTokens: 10, outputTokens: 5, ...NONE, cacheReadTokens: 10 },
    ],
    ['missing', undefined, undefined],
    ['null', null, undefined],
    ['negative', { prompt_tokens: -1, completion_tokens: 5 }, undefined],
    ['fractional', { prompt_tokens: 1.5, completion_tokens: 5 }, undefined],
    ['text', { prompt_tokens: '10', completion_tokens: 5 }, undefined],
    ['half', { prompt_tokens: 10 }, undefined],
  ])('%s', (_what, reported, expected) => {
    expect(readChatUsage(reported)).toEqual(expected);
  });
});

describe('messages', () => {
  test.each<[string, unknown[], unknown]>([
    [
      'cache tokens are added to the input',
      [{ input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 50 }],
      { inputTokens: 160, outputTokens: 5, cacheReadTokens: 100, cacheWriteTokens: 50, reasoningTokens: 0 },
    ],
    [
      'the later report replaces, it is not added',
      [
        { input_tokens: 10, output_tokens: 1 },
        { output_tokens: 42, output_tokens_details: { thinking_tokens: 7 } },
      ],
      { inputTokens: 10, outputTokens: 42, ...NONE, reasoningTokens: 7 },
    ],
    [
      'nulls of the later report say nothing',
      [
        { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 3 },
        { input_tokens: null, output_tokens: 2, cache_read_input_tokens: null },
      ],
      { inputTokens: 13, outputTokens: 2, ...NONE, cacheReadTokens: 3 },
    ],
    ['missing', [undefined, undefined], undefined],
    ['negative', [{ input_tokens: 10, output_tokens: -1 }], undefined],
    ['negative cache', [{ input_tokens: 10, output_tokens: 1, cache_read_input_tokens: -4 }], undefined],
  ])('%s', (_what, reports, expected) => {
    expect(readMessagesUsage(...reports)).toEqual(expected);
  });
});
