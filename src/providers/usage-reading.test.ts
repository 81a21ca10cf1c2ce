import { readEmbeddings } from './embeddings-reader.ts';
import { readRanking } from './rerank-reader.ts';
import { joinMessagesReports, laterUsage, readChatUsage, readMessagesUsage } from './usage-reading.ts';

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
      'Qwen: what was written to the cache stands among the details, beside a zero',
      {
        prompt_tokens: 2_000,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 1_889 },
      },
      { inputTokens: 2_000, outputTokens: 5, ...NONE, cacheWriteTokens: 1_889 },
    ],
    [
      'a zero under one name hides no count under another',
      {
        ...{ prompt_tokens: 100, completion_tokens: 50, reasoning_tokens: 7, num_cached_tokens: 64 },
        ...{
          prompt_tokens_details: { cached_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 0 },
        },
      },
      { inputTokens: 100, outputTokens: 50, cacheReadTokens: 64, cacheWriteTokens: 0, reasoningTokens: 7 },
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
    [
      'negative prompt',
      { prompt_tokens: -1, completion_tokens: 900 },
      { inputTokens: 0, outputTokens: 900, ...NONE, unread: 'input' },
    ],
    [
      'negative completion',
      { prompt_tokens: 5_000, completion_tokens: -1, prompt_tokens_details: { cached_tokens: 4_900 } },
      { inputTokens: 5_000, outputTokens: 0, ...NONE, cacheReadTokens: 4_900, unread: 'output' },
    ],
    [
      'fractional prompt',
      { prompt_tokens: 12.5, completion_tokens: 900 },
      { inputTokens: 0, outputTokens: 900, ...NONE, unread: 'input' },
    ],
    [
      'a prompt beyond all numbers',
      { input_tokens: 1e300, output_tokens: 50 },
      { inputTokens: 0, outputTokens: 50, ...NONE, unread: 'input' },
    ],
    [
      'both sides nonsense',
      { prompt_tokens: -1, completion_tokens: -1 },
      { inputTokens: 0, outputTokens: 0, ...NONE, unread: 'both' },
    ],
    [
      'a placeholder beside nonsense',
      { prompt_tokens: 0, completion_tokens: -1 },
      { inputTokens: 0, outputTokens: 0, ...NONE, unread: 'both' },
    ],
    [
      'numbers as text',
      { prompt_tokens: '10', completion_tokens: '5' },
      { inputTokens: 10, outputTokens: 5, ...NONE },
    ],
    [
      'text',
      { prompt_tokens: 'ten', completion_tokens: 5 },
      { inputTokens: 0, outputTokens: 5, ...NONE, unread: 'input' },
    ],
    ['half', { prompt_tokens: 10 }, { inputTokens: 10, outputTokens: 0, ...NONE, unread: 'output' }],
    ['a total alone', { total_tokens: 10 }, undefined],
    ['zeros', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, undefined],
    [
      'Gemini: the total beyond prompt and completion is thinking',
      { prompt_tokens: 9, completion_tokens: 3, total_tokens: 105 },
      { inputTokens: 9, outputTokens: 96, ...NONE, reasoningTokens: 93 },
    ],
    [
      'thinking alone',
      { prompt_tokens: 20, completion_tokens: 0, total_tokens: 520 },
      { inputTokens: 20, outputTokens: 500, ...NONE, reasoningTokens: 500 },
    ],
    [
      'prompt and total without a completion count',
      { prompt_tokens: 20, total_tokens: 520 },
      { inputTokens: 20, outputTokens: 500, ...NONE },
    ],
    [
      'the total of a proxy that leaves cached tokens out of the prompt',
      { prompt_tokens: 10, completion_tokens: 5, total_tokens: 115, cache_read_input_tokens: 100 },
      { inputTokens: 110, outputTokens: 5, ...NONE, cacheReadTokens: 100 },
    ],
    [
      '… also if the prompt is longer than the cached part',
      { prompt_tokens: 200, completion_tokens: 5, total_tokens: 305, cache_read_input_tokens: 100 },
      { inputTokens: 300, outputTokens: 5, ...NONE, cacheReadTokens: 100 },
    ],
    [
      'cached tokens by the names of Anthropic that exceed the prompt cannot be part of it',
      { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30, cache_read_input_tokens: 5_000 },
      { inputTokens: 5_010, outputTokens: 20, ...NONE, cacheReadTokens: 5_000 },
    ],
    [
      '… reads and writes',
      {
        ...{ input_tokens: 10, output_tokens: 20 },
        ...{ cache_read_input_tokens: 100, cache_creation_input_tokens: 50 },
      },
      { inputTokens: 160, outputTokens: 20, cacheReadTokens: 100, cacheWriteTokens: 50, reasoningTokens: 0 },
    ],
    [
      '… and are a part of a longer prompt',
      { prompt_tokens: 200, completion_tokens: 20, total_tokens: 220, cache_read_input_tokens: 100 },
      { inputTokens: 200, outputTokens: 20, ...NONE, cacheReadTokens: 100 },
    ],
    [
      'a bad detail is ignored without voiding the report',
      { prompt_tokens: 10, completion_tokens: 300, completion_tokens_details: { reasoning_tokens: -1 } },
      { inputTokens: 10, outputTokens: 300, ...NONE },
    ],
    [
      'flat names',
      { input_tokens: 10, output_tokens: 50, cached_tokens: 4, reasoning_tokens: 7 },
      { inputTokens: 10, outputTokens: 50, ...NONE, cacheReadTokens: 4, reasoningTokens: 7 },
    ],
    [
      'Perplexity: reasoning above the completion is added to it',
      { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28, reasoning_tokens: 9_000 },
      { inputTokens: 20, outputTokens: 9_008, ...NONE, reasoningTokens: 9_000 },
    ],
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
      'the later report replaces the earlier, they are not added',
      [
        { input_tokens: 10, output_tokens: 1 },
        { output_tokens: 42, output_tokens_details: { thinking_tokens: 7 } },
      ],
      { inputTokens: 10, outputTokens: 42, ...NONE, reasoningTokens: 7 },
    ],
    [
      'nulls in the later report are ignored',
      [
        { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 3 },
        { input_tokens: null, output_tokens: 2, cache_read_input_tokens: null },
      ],
      { inputTokens: 13, outputTokens: 2, ...NONE, cacheReadTokens: 3 },
    ],
    [
      'a closing report of zeros takes nothing back',
      [
        { input_tokens: 2_000, output_tokens: 1 },
        { input_tokens: 0, output_tokens: 8 },
      ],
      { inputTokens: 2_000, outputTokens: 8, ...NONE },
    ],
    [
      'cache writes reported only by lifetime',
      [{ input_tokens: 1, output_tokens: 1, cache_creation: { ephemeral_5m_input_tokens: 7 } }],
      { inputTokens: 8, outputTokens: 1, ...NONE, cacheWriteTokens: 7 },
    ],
    [
      'work billed besides the answer',
      [
        { input_tokens: 20, output_tokens: 1 },
        {
          output_tokens: 30,
          iterations: [
            { type: 'compaction', input_tokens: 500, output_tokens: 40, cache_read_input_tokens: 100 },
            { type: 'message', input_tokens: 20, output_tokens: 30 },
          ],
        },
      ],
      { inputTokens: 620, outputTokens: 70, ...NONE, cacheReadTokens: 100 },
    ],
    [
      'turns that lack what the whole has',
      [
        {
          ...{ input_tokens: 20, output_tokens: 9, cache_creation: { ephemeral_5m_input_tokens: 7 } },
          iterations: [{ type: 'message', output_tokens: 9 }],
        },
      ],
      { inputTokens: 27, outputTokens: 9, ...NONE, cacheWriteTokens: 7 },
    ],
    ['missing', [undefined, undefined], undefined],
    [
      'negative output',
      [{ input_tokens: 10, output_tokens: -1 }],
      { inputTokens: 10, outputTokens: 0, ...NONE, unread: 'output' },
    ],
    [
      'negative input',
      [{ input_tokens: -1, output_tokens: 50 }],
      { inputTokens: 0, outputTokens: 50, ...NONE, unread: 'input' },
    ],
    [
      'negative input beside cached tokens',
      [{ input_tokens: -1, output_tokens: 50, cache_read_input_tokens: 100 }],
      { inputTokens: 100, outputTokens: 50, ...NONE, cacheReadTokens: 100, unread: 'input' },
    ],
    [
      'nonsense in a later report takes nothing back',
      [
        { input_tokens: 2_000, output_tokens: 1 },
        { input_tokens: -1, output_tokens: 8 },
      ],
      { inputTokens: 2_000, outputTokens: 8, ...NONE },
    ],
    [
      'negative cache',
      [{ input_tokens: 10, output_tokens: 1, cache_read_input_tokens: -4 }],
      { inputTokens: 10, outputTokens: 1, ...NONE },
    ],
  ])('%s', (_what, reports, expected) => {
    const joined = reports.reduce(joinMessagesReports, {});
    expect(readMessagesUsage(joined)).toEqual(expected);
  });
});

test('merging two reports of one stream keeps the larger value of each member', () => {
  const first = { inputTokens: 20, outputTokens: 8, ...NONE, cacheReadTokens: 5 };
  const second = { inputTokens: 20, outputTokens: 30, ...NONE };
  expect(laterUsage(undefined, first)).toBe(first);
  expect(laterUsage(first, second)).toEqual({ ...second, cacheReadTokens: 5 });
});

test('a side that only one of two reports has is read', () => {
  const input = { inputTokens: 20, outputTokens: 0, ...NONE, unread: 'output' as const };
  const output = { inputTokens: 0, outputTokens: 30, ...NONE, unread: 'input' as const };
  expect(laterUsage(input, output)).toEqual({ inputTokens: 20, outputTokens: 30, ...NONE });
  expect(laterUsage(input, input)).toEqual(input);
});

const INPUT_50 = { inputTokens: 50, outputTokens: 0, ...NONE };

test.each<[object, object | undefined]>([
  [{ prompt_tokens: 50, total_tokens: 50 }, INPUT_50],
  [{ prompt_tokens: 0, total_tokens: 50 }, INPUT_50],
  [{ total_tokens: 50 }, INPUT_50],
  [{ prompt_tokens: 0, total_tokens: 0 }, undefined],
  [{ prompt_tokens: -1 }, undefined],
  [{}, undefined],
])('embeddings and rankings have only input: %j', (usage, expected) => {
  const vectors = { data: [{ index: 0, embedding: [0.5] }], usage };
  expect(readEmbeddings(vectors, 1).usage).toEqual(expected);
  const ranking = { results: [{ index: 0, relevance_score: 0.5 }], usage };
  expect(readRanking(ranking, 1).usage).toEqual(expected);
});
