import { type Evidence, judgeUsage } from './usage-judgment.ts';

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
