import { failureOfError, failureOfStatus } from './classify-failure.ts';

test.each<[number, unknown, string]>([
  [400, { error: { message: 'Unknown parameter' } }, 'rejected'],
  [400, { error: { code: 'context_length_exceeded' } }, 'context_length'],
  [
    400,
    { error: { type: 'invalid_request_error', message: 'prompt is too long: 5 tokens > 4 maximum' } },
    'context_length',
  ],
  [400, { error: { message: "This model's maximum context length is 8192 tokens." } }, 'context_length'],
  [400, { error: { message: 'Your credit balance is too low to access the API.' } }, 'misconfigured'],
  [400, { error: { code: 'content_filter' } }, 'content_policy'],
  [401, {}, 'misconfigured'],
  [402, {}, 'misconfigured'],
  [404, undefined, 'misconfigured'],
  [408, {}, 'overloaded'],
  [413, {}, 'too_large'],
  [422, { detail: [] }, 'rejected'],
  [429, { error: { code: 'insufficient_quota' } }, 'misconfigured'],
  [429, { error: { code: 'rate_limit_exceeded' } }, 'rate_limited'],
  [500, undefined, 'failed'],
  [
    500,
    { error: { code: 500, message: 'Cannot use tools with stream', type: 'server_error' } },
    'unsupported',
  ],
  [500, { object: 'error', message: 'This model does not support image input' }, 'unsupported'],
  [500, { error: { message: 'Failed to parse grammar' } }, 'unsupported'],
  [500, { error: { type: 'invalid_request_error', message: 'no' } }, 'unsupported'],
  [501, { error: { message: 'Not implemented: response_format' } }, 'unsupported'],
  [501, { error: { message: 'This feature is not supported' } }, 'unsupported'],
  [500, { error: { message: 'CUDA error: invalid device ordinal' } }, 'failed'],
  [500, { error: 'runtime error: invalid memory address or nil pointer dereference' }, 'failed'],
  [502, '<html>', 'failed'],
  [503, {}, 'overloaded'],
  [529, {}, 'overloaded'],
  [302, undefined, 'malformed'],
])('%i %j is %s', (status, body, reason) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe(reason);
});

test.each<[unknown, string]>([
  [{ type: 'overloaded_error', message: 'Overloaded' }, 'overloaded'],
  [{ code: 429, message: 'slow down' }, 'rate_limited'],
  [{ code: 502 }, 'failed'],
  [{ type: 'server_error' }, 'failed'],
  [{ type: 'invalid_request_error', code: 'context_length_exceeded' }, 'context_length'],
  [{ code: 'context_length_exceeded', message: 'Your input exceeds the context window' }, 'context_length'],
  [{ code: 'insufficient_quota', message: 'You exceeded your current quota' }, 'misconfigured'],
  [{ code: 'invalid_prompt', message: 'flagged' }, 'rejected'],
  [{ code: 'server_is_overloaded' }, 'overloaded'],
  [{ code: 'invalid_image_url', message: 'no' }, 'rejected'],
  [{ code: 'image_content_policy_violation', message: 'no' }, 'content_policy'],
  ['text', 'failed'],
])('an error of %j inside an answer is %s', (error, reason) => {
  expect(failureOfError(error).reason).toBe(reason);
});

test.each<[number, unknown]>([
  [
    400,
    {
      error: { type: 'exceed_context_size_error', message: 'the request exceeds the available context size' },
    },
  ],
  [
    400,
    [{ error: { code: 400, message: 'The input token count (9000) exceeds the maximum number of tokens' } }],
  ],
  [422, { error: '`inputs` must have less than 4095 tokens. Given: 5000', error_type: 'validation' }],
  [422, { error: 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096' }],
  [400, { error: { message: 'input length and `max_tokens` exceed context limit: 9 + 4 > 12' } }],
  [400, { error: { message: 'prompt is too long: 99 tokens > 9 maximum' } }],
  [413, { error: { message: "exceeds the model's maximum context length" } }],
])('%i %j is an input that exceeds the context', (status, body) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe('context_length');
});

test('a failure reveals the provider’s message only through `said`, with keys masked', () => {
  const failure = failureOfStatus(500, undefined, { error: { message: 'my secret sk-proj-abcdef123456' } });
  expect(failure.said).toBe('my secret [key]');
  expect(JSON.stringify(failure) + String(failure.stack) + String(failure.cause)).not.toContain('secret');
});
