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
  [302, undefined, 'misconfigured'],
  [307, '<html>moved</html>', 'misconfigured'],
  [400, "This model's maximum context length is 8192 tokens. However you requested 9000.", 'context_length'],
  [400, { errors: [{ message: 'prompt is too long: 5 tokens > 4 maximum' }] }, 'context_length'],
  [400, { errors: ['prompt is too long: 5 tokens > 4 maximum'] }, 'context_length'],
  [400, { code: 1301, msg: 'exceeds the context window' }, 'context_length'],
  [410, {}, 'misconfigured'],
  [418, { error: { message: 'teapot' } }, 'unsupported'],
  [418, { error: { message: 'prompt is too long: 5 tokens > 4 maximum' } }, 'context_length'],
  [424, {}, 'failed'],
  [431, {}, 'misconfigured'],
  [498, {}, 'overloaded'],
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
  ['prompt is too long: 5 tokens > 4 maximum', 'context_length'],
  [
    { type: 'BadRequestError', message: "This model's maximum context length is 8192 tokens" },
    'context_length',
  ],
  [{ code: 500, message: 'cannot allocate the maximum context length' }, 'failed'],
  [{ code: '400', message: 'bad tool schema' }, 'rejected'],
  [{ status: '429', message: 'slow down' }, 'rate_limited'],
  [{ code: '1301', message: 'odd' }, 'failed'],
  [{ code: 'data_inspection_failed', message: 'Output data may contain …' }, 'content_policy'],
  [{ code: 'content_filter', message: 'filtered' }, 'content_policy'],
  [{ type: 'too_many_requests_error', code: 'queue_exceeded', message: 'busy' }, 'rate_limited'],
  [{ type: 'engine_overloaded_error', message: 'busy' }, 'overloaded'],
  [
    'The number of tokens to keep from the initial prompt is greater than the context length',
    'context_length',
  ],
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
  [400, { message: 'Input is too long for requested model.' }],
  [400, { error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." }],
  [400, { error: { message: 'The decoder prompt (length 9) is longer than the maximum model length of 5' } }],
  [
    400,
    { error: { message: 'Invalid request: Your request exceeded model token limit: 9 (requested: 10)' } },
  ],
  [
    400,
    { error: { code: 'invalid_parameter_error', message: 'Range of input length should be [1, 30720]' } },
  ],
  [400, { error: { code: '1261', message: 'Prompt exceeds max length' } }],
  [400, { error: { message: 'prompt token count of 9 exceeds the limit of 5' } }],
  [400, { code: 20015, message: 'length of prompt_tokens (9) must be less than max_seq_len (5).' }],
  [400, { error: { message: 'Total tokens of image and text exceed max message tokens' } }],
  [
    500,
    { error: { message: 'prompt too long; exceeded max context length by 9 tokens', type: 'api_error' } },
  ],
  [400, { message: 'too many tokens: the prompt cannot exceed 4081 tokens' }],
  [
    500,
    {
      error: {
        code: 500,
        message:
          'input (602 tokens) is too large to process. increase the physical batch size (current batch size: 512)',
        type: 'server_error',
      },
    },
  ],
])('%i %j is an input that exceeds the context', (status, body) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe('context_length');
});

test.each<[unknown, string]>([
  ['400 Bad Request: bad tool schema\n', '400 Bad Request: bad tool schema'],
  [' <html><h1>Bad Request</h1></html>', ''],
  [{ errors: [{ code: 5006, message: 'bad thing' }] }, 'bad thing'],
  [{ errors: ['bad thing'] }, 'bad thing'],
  [{ error: { code: 'x', message: { detail: 'nested' } } }, '{"detail":"nested"}'],
  [{ detail: [{ loc: ['body'], msg: 'field required' }] }, '[{"loc":["body"],"msg":"field required"}]'],
  [{ code: 1301, msg: 'bad thing', success: false }, 'bad thing'],
  [{ error: 'bad thing' }, 'bad thing'],
  ['a JSON string', 'a JSON string'],
])('the message of %j is %j', (body, said) => {
  expect(failureOfStatus(400, undefined, body).said).toBe(said);
});

test.each<[unknown, number | undefined]>([
  [{ code: 400, message: 'bad tool schema' }, 400],
  [{ type: 'invalid_request_error', message: 'bad tool schema' }, 400],
  [{ type: 'request_too_large', message: 'too large' }, 413],
  [{ code: 401, message: 'bad key of the operator' }, undefined],
  [{ type: 'overloaded_error', message: 'busy' }, undefined],
])(
  'an error of %j inside an answer has status %j, which decides whether the caller may read it',
  (error, status) => {
    expect(failureOfError(error).status).toBe(status);
  },
);

test('a failure reveals the provider’s message only through `said`, with keys masked', () => {
  const failure = failureOfStatus(500, undefined, { error: { message: 'my secret sk-proj-abcdef123456' } });
  expect(failure.said).toBe('my secret [key]');
  expect(JSON.stringify(failure) + String(failure.stack) + String(failure.cause)).not.toContain('secret');
});
