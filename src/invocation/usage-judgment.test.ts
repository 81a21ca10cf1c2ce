import { countUsage, type Evidence, judgeUsage } from './usage-judgment.ts';

const REPORT = {
  inputTokens: 100,
  outputTokens: 50,
  cacheReadTokens: 10,
  cacheWriteTokens: 5,
  reasoningTokens: 20,
};

function evidence(others: Partial<Evidence> = {}): Evidence {
  return {
    reported: REPORT,
    reportedInput: undefined,
    inputTokens: 80,
    outputTokens: () => 40,
    reasoningTokens: () => 4,
    inputTokensMin: 70,
    inputMax: 120,
    outputLength: 160,
    contextLength: 1_000,
    outputMax: 500,
    ...others,
  };
}

const COUNTED = {
  inputTokens: 80,
  outputTokens: 40,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 4,
};

test('a credible report is accepted', () => {
  expect(judgeUsage(evidence())).toEqual({ usage: REPORT, source: 'provider', absurd: false });
});

test('without a report our count is used', () => {
  expect(judgeUsage(evidence({ reported: undefined }))).toEqual({
    usage: COUNTED,
    source: 'counted',
    absurd: false,
  });
});

test('zero output with delivered text is treated as a placeholder', () => {
  const reported = { ...REPORT, outputTokens: 0, reasoningTokens: 0 };
  const verdict = judgeUsage(evidence({ reported }));
  expect(verdict).toMatchObject({
    source: 'counted',
    absurd: true,
    usage: { inputTokens: 100, outputTokens: 40 },
  });
  expect(judgeUsage(evidence({ reported, outputLength: 0 }))).toMatchObject({
    source: 'provider',
    absurd: false,
  });
});

test('an impossible report is cut to what is possible', () => {
  const reported = {
    inputTokens: 9e9,
    outputTokens: 9e9,
    cacheReadTokens: 8e9,
    cacheWriteTokens: 8e9,
    reasoningTokens: 8e9,
  };
  expect(judgeUsage(evidence({ reported }))).toEqual({
    usage: {
      inputTokens: 120,
      outputTokens: 500,
      cacheReadTokens: 120,
      cacheWriteTokens: 0,
      reasoningTokens: 500,
    },
    source: 'provider',
    absurd: true,
  });
});

test("the provider's input is accepted even when the output must be counted", () => {
  const reportedInput = { ...REPORT, outputTokens: 0 };
  const { usage } = judgeUsage(evidence({ reported: undefined, reportedInput }));
  expect(usage).toEqual({
    inputTokens: 100,
    cacheReadTokens: 10,
    cacheWriteTokens: 5,
    outputTokens: 40,
    reasoningTokens: 4,
  });
});

test('less than half of our count is not accepted for input or output, and both counts are returned', () => {
  const half = { ...REPORT, inputTokens: 40, outputTokens: 50 };
  expect(judgeUsage(evidence({ reported: half, inputTokensMin: 80 }))).toMatchObject({ source: 'provider' });
  const little = { ...REPORT, inputTokens: 10, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0 };
  expect(judgeUsage(evidence({ reported: little }))).toEqual({
    usage: { ...COUNTED, reasoningTokens: 4 },
    source: 'counted',
    absurd: true,
    reported: little,
    counted: { inputTokens: 80, outputTokens: 40 },
  });
  const hidden = { ...REPORT, outputTokens: 400, reasoningTokens: 390 };
  expect(judgeUsage(evidence({ reported: hidden }))).toMatchObject({ source: 'provider', usage: hidden });
});

test('text too short to exceed the report is not counted', () => {
  const outputTokens = () => {
    throw new Error('counted needlessly');
  };
  expect(judgeUsage(evidence({ outputTokens, outputLength: 100 })).source).toBe('provider');
});

describe('a side that the provider does not report credibly', () => {
  const none = { cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

  test('is counted, and the other is charged as reported', () => {
    const input = { inputTokens: 0, outputTokens: 900, ...none, unread: 'input' as const };
    expect(judgeUsage(evidence({ reported: input, outputMax: 1_000 }))).toMatchObject({
      ...{ source: 'counted', absurd: true, counted: { inputTokens: 80 } },
      usage: { inputTokens: 80, outputTokens: 900 },
    });
    const output = {
      inputTokens: 500,
      outputTokens: 0,
      ...none,
      cacheReadTokens: 400,
      unread: 'output' as const,
    };
    expect(judgeUsage(evidence({ reported: output }))).toMatchObject({
      ...{ source: 'counted', absurd: true, counted: { outputTokens: 40 } },
      usage: { inputTokens: 500, cacheReadTokens: 400, outputTokens: 40 },
    });
  });

  test('counts at least as the part that is known', () => {
    const cached = {
      ...none,
      inputTokens: 300,
      outputTokens: 9,
      cacheReadTokens: 300,
      unread: 'input' as const,
    };
    expect(judgeUsage(evidence({ reported: cached, outputLength: 9 })).usage.inputTokens).toBe(300);
  });

  test('is logged even when nothing else is left of the report', () => {
    const both = { inputTokens: 0, outputTokens: 0, ...none, unread: 'both' as const };
    expect(judgeUsage(evidence({ reported: both }))).toMatchObject({ usage: COUNTED, absurd: true });
  });

  test('does not count as the input of an answer that was cut off', () => {
    const reported = { inputTokens: 0, outputTokens: 9, ...none, unread: 'input' as const };
    expect(countUsage(evidence({ reported })).usage.inputTokens).toBe(80);
  });
});

test('an input of zero beside a text is a placeholder', () => {
  const reported = { ...REPORT, inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const short = { inputTokens: 12, inputTokensMin: 8 };
  expect(judgeUsage(evidence({ reported, ...short })).usage.inputTokens).toBe(12);
  expect(judgeUsage(evidence({ reported, inputTokensMin: 0 })).usage.inputTokens).toBe(0);
});
