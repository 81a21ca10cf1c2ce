import { answerOf, failureOfError, failureOfStatus } from './classify-failure.ts';

/** What providers say of the operator's account or of a model that they do not have, with statuses that mean something else. */
test.each<[number, unknown]>([
  [
    400,
    {
      error: { type: 'invalid_request_error', message: 'You have reached your specified API usage limits.' },
    },
  ],
  [400, { code: 'Client specified an invalid argument', error: 'Incorrect API key provided: xa***ws.' }],
  [400, [{ error: { code: 400, message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] } }]],
  [
    400,
    {
      error: {
        code: 'unsupported_value',
        message: 'Your organization must be verified to stream this model.',
      },
    },
  ],
  [400, { error: { message: 'You have reached your specified workspace API usage limits.' } }],
  [
    400,
    { error: { code: 'model_not_supported', message: 'not supported by any provider you have enabled' } },
  ],
  [400, { error: { code: 'OperationNotSupported', message: 'does not work with the specified model' } }],
  [400, { code: 20012, message: 'Model does not exist. Please check it carefully.' }],
  [400, { error: { code: 'Arrearage', type: 'Arrearage', message: 'Access denied.' } }],
  [
    400,
    { error: { code: '400', type: 'budget_exceeded', message: 'Budget has been exceeded! Max budget: 10' } },
  ],
  [400, { error: { code: 'invalid_request_error', message: 'Model Not Exist' } }],
  [400, { error: { code: '1211', message: 'Unknown Model, please check the model code.' } }],
  [400, { error: { code: 'model_decommissioned', message: 'The model `x` has been decommissioned.' } }],
  [400, { object: 'error', type: 'invalid_model', message: 'Invalid model: x' }],
  [400, { error: { code: 400, message: 'x/y is not a valid model ID' } }],
  [400, { message: 'The provided model identifier is invalid.' }],
  [
    429,
    { error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' } },
  ],
  [429, { error: { code: '1113', message: '余额不足或无可用资源包,请充值。' } }],
  [429, { error: { type: 'exceeded_current_quota_error', message: 'Your account is suspended' } }],
  [429, { code: 'exhausted', error: 'Your team has either used all available credits or reached a limit.' }],
  [
    429,
    {
      error: { http_code: '429', type: 'insufficient_balance_error', message: 'insufficient balance (1008)' },
    },
  ],
  [500, { type: 'error', error: { type: 'api_error', message: 'insufficient balance (1008)' } }],
  [
    429,
    {
      error: {
        code: 429,
        message: 'Provider returned error',
        metadata: { raw: '{"error":{"message":"Your account is suspended due to insufficient balance"}}' },
      },
    },
  ],
])('%i %j is the operator’s', (status, body) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe('misconfigured');
});

test.each<[number, unknown]>([
  [400, { error: { message: "Invalid value: 'insufficient balance'. Supported values are: 'auto'." } }],
  [400, { error: { message: 'tools[0].name: "incorrect api key provided" does not match' } }],
  [400, { detail: [{ loc: ['body'], msg: 'bad', input: 'model not exist' }] }],
])('%i %j only quotes the caller', (status, body) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe('rejected');
});

test.each<[number, unknown]>([
  [
    400,
    { error: { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' } },
  ],
  [400, { error: { type: 'content_filter', message: 'considered high risk' } }],
  [400, { error: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' } }],
  [400, { error: { code: '1301', message: '系统检测到输入或生成内容可能包含不安全或敏感内容' } }],
  [403, { code: 'permission-denied', error: 'Content violates usage guidelines. ' }],
  [
    403,
    {
      error: {
        code: 403,
        message: 'The model requires moderation on X. Your input was flagged for "violence".',
      },
    },
  ],
  [422, { error: { message: 'input new_sensitive (1026)' } }],
  [
    400,
    { error: { code: 'InputTextSensitiveContentDetected', message: 'may contain sensitive information' } },
  ],
])('%i %j is about content', (status, body) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe('content_policy');
});

test.each<[number, unknown, string]>([
  [403, { code: 'permission-denied', error: 'Access to the chat endpoint is denied' }, 'misconfigured'],
  [404, { error: { code: 404, message: 'No endpoints found that support tool use.' } }, 'unsupported'],
  [
    413,
    { error: { code: 'rate_limit_exceeded', type: 'tokens', message: 'Request too large' } },
    'unsupported',
  ],
  [
    429,
    { error: { code: 'insufficient_quota', message: 'You exceeded … /model-studio/error-code#token-limit' } },
    'rate_limited',
  ],
])('%i %j is %s, whatever others mean by that status', (status, body, reason) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe(reason);
});

test.each<[number, unknown]>([
  [400, { error: { code: 'tool_use_failed', message: 'Failed to call a function.' } }],
  [400, { error: { code: 'output_parse_failed', message: 'The model generated output that …' } }],
  [400, { message: 'Failed to generate tool_calls. Exception: Tool is not present in the tools list.' }],
  [424, { message: 'Model produced invalid sequence as part of ToolUse. ' }],
  [500, { error: { message: 'The model produced invalid content.', type: 'model_error', code: null } }],
  [500, { error: { message: "error parsing tool call: raw='ls -R\n', err=invalid character 'l'" } }],
  [500, { error: { message: 'XML syntax error on line 8: element <function> closed by </parameter>' } }],
  [500, { error: { message: 'expected element type <function> but have <parameter>' } }],
  [
    500,
    {
      error: { message: 'unexpected tokens remaining in message header: Some("to=functions.f")', code: 500 },
    },
  ],
  [500, { error: { message: 'Unexpected token 200002 while expecting start token 200006' } }],
  [
    500,
    {
      error: {
        message: 'The model produced output that does not match the expected peg-native format',
        type: 'server_error',
      },
    },
  ],
])('%i %j is about what the model wrote', (status, body) => {
  expect(failureOfStatus(status, undefined, body)).toMatchObject({
    reason: 'garbled',
    policy: { retry: true, fallback: true, health: 'neutral' },
  });
});

test.each<[number, unknown, string]>([
  [400, { error: { message: "Invalid value: 'the model produced invalid content'" } }, 'rejected'],
  [500, { error: { message: 'Failed to parse input: error parsing tool call' } }, 'unsupported'],
  [500, { error: { message: 'Unexpected token < in JSON at position 0' } }, 'failed'],
])('%i %j is not', (status, body, reason) => {
  expect(failureOfStatus(status, undefined, body).reason).toBe(reason);
});

test('an error of the provider behind a proxy is read in its place', () => {
  const raw = '{"error":{"message":"This model\'s maximum context length is 8192 tokens.","code":400}}';
  const failure = failureOfStatus(400, undefined, {
    error: { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'X' } },
  });
  expect(failure.reason).toBe('context_length');
  expect(failure.said).toBe("This model's maximum context length is 8192 tokens.");
  const metadata = { raw: 'x/y is temporarily rate-limited upstream', provider_name: 'X' };
  expect(failureOfError({ message: 'Provider returned error', code: 429, metadata })).toMatchObject({
    reason: 'rate_limited',
    said: 'x/y is temporarily rate-limited upstream',
  });
});

test('a pause that stands only in the body is kept; one in a header counts more', () => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }];
  const body = [{ error: { code: 429, message: 'quota', status: 'RESOURCE_EXHAUSTED', details } }];
  expect(failureOfStatus(429, undefined, body).retryAfterMs).toBe(34_500);
  expect(failureOfStatus(429, 2_000, body).retryAfterMs).toBe(2_000);
  expect(failureOfError(body[0]?.error).retryAfterMs).toBe(34_500);
});

test.each<[number, string]>([
  [1002, 'rate_limited'],
  [1004, 'misconfigured'],
  [1008, 'misconfigured'],
  [1027, 'content_policy'],
  [2013, 'rejected'],
  [1013, 'failed'],
])('MiniMax’s code %i within a 200 answer is %s', (status_code, reason) => {
  const said = { 1027: 'output new_sensitive (1027)' }[status_code] ?? 'words';
  const answer = JSON.stringify({ choices: null, base_resp: { status_code, status_msg: said } });
  expect(() => answerOf(answer)).toThrow(`provider call ${reason}`);
});
