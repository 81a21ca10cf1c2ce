import { expect, test } from '@jest/globals';
import { AT_ONCE } from '../lib/event-loop-queue.ts';
import { atOnce } from '../lib/steps.ts';
import { failureOfStatus } from './classify-failure.ts';
import { sentWithoutRefusedMembers, withoutRefusedMembers } from './refused-members.ts';

const amended = (...args: Parameters<typeof withoutRefusedMembers>) => atOnce(withoutRefusedMembers(...args));

const BODY = {
  model: 'm',
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'ho', reasoning_content: 'hm' },
  ],
  tools: [{ type: 'function', function: { name: 'f', strict: true } }],
  stop: ['x'],
  temperature: 0.2,
  reasoning_effort: 'high',
  reasoning: { effort: 'high' },
  parallel_tool_calls: false,
  stream_options: { include_usage: true },
};

function refused(status: number, message: string) {
  return amended('chat', BODY, failureOfStatus(status, undefined, { error: { message } }))?.paths;
}

test.each<[number, string, string[]]>([
  [400, 'Validation: Unsupported parameter(s): reasoning', ['reasoning']],
  [400, 'Model grok-4 does not support parameter reasoningEffort.', ['reasoning_effort']],
  [400, 'Bad request: json: unknown field "stream_options"', ['stream_options']],
  [422, "unknown field: parameter 'strict' is not a valid field.", ['tools[].function.strict']],
  [
    400,
    "Extra inputs are not permitted, field: 'messages[1].reasoning_content'",
    ['messages[].reasoning_content'],
  ],
  [
    400,
    'Unrecognized request arguments supplied: parallel_tool_calls, reasoning_effort',
    ['parallel_tool_calls', 'reasoning_effort'],
  ],
  [501, 'parallel_tool_calls is not supported', ['parallel_tool_calls']],
  [
    400,
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    ['temperature'],
  ],
])('%i %s', (status, message, paths) => {
  expect(refused(status, message)).toEqual(paths);
});

test.each<[number, string]>([
  // what the caller relies on
  [400, 'Unrecognized request argument supplied: stop'],
  [400, 'tools is not supported'],
  // another value may be fine
  [400, "Unsupported value: 'reasoning_effort' does not support 'max' with this model."],
  [400, '`reasoning_effort` must be one of `low`, `medium`, or `high`; others are not supported'],
  // not about the request
  [503, 'reasoning is not supported right now'],
  [401, 'your key does not support reasoning'],
])('%i %s changes nothing', (status, message) => {
  expect(refused(status, message)).toBeUndefined();
});

test('gives the cap the name that a server asks for', () => {
  const message =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  const failure = failureOfStatus(400, undefined, { error: { message, code: 'unsupported_parameter' } });
  expect(amended('chat', { messages: [], max_tokens: 7 }, failure)).toEqual({
    body: { messages: [], max_completion_tokens: 7 },
    paths: [],
  });
  expect(amended('chat', { messages: [], max_completion_tokens: 7 }, failure)).toBeUndefined();
  const quoting = failureOfStatus(400, undefined, {
    error: { message: `user "${message}" is not supported` },
  });
  expect(amended('chat', { messages: [], max_tokens: 7 }, quoting)).toBeUndefined();
});

test('lets a model call tools without reasoning where its server has both only in Responses', () => {
  const message =
    "Function tools with reasoning_effort are not supported for gpt-5.6-luna in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  const failure = failureOfStatus(400, undefined, { error: { message } });
  const body = { messages: [], tools: [] };
  const fitting = { body: { ...body, reasoning_effort: 'none' }, paths: ['reasoning_effort'] };
  expect(amended('chat', body, failure)).toEqual(fitting);
  expect(amended('chat', { ...body, reasoning_effort: 'high' }, failure)).toEqual(fitting);
  expect(amended('chat', fitting.body, failure)).not.toEqual(fitting);
});

test.each<['chat' | 'messages' | 'responses', string, string, string | undefined]>([
  [
    'chat',
    'max',
    "Unsupported value: 'reasoning_effort' does not support 'max' with this model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
    'xhigh',
  ],
  ['chat', 'none', "Invalid value: 'none'. Supported values are: 'low', 'medium', and 'high'.", 'low'],
  ['chat', 'xhigh', '`reasoning_effort` must be one of `low` or `high`', 'high'],
  ['chat', 'minimal', 'unknown variant `minimal`, expected one of `low`, `medium`, `high` at line 1', 'low'],
  ['messages', 'xhigh', "output_config.effort: Input should be 'low', 'medium' or 'high'", 'high'],
  ['responses', 'max', "Invalid value: 'max'. Supported values are: 'low', 'medium', and 'high'.", 'high'],
  // the effort is fine: this is about something else
  ['chat', 'high', "Invalid value: 'top'. Supported values are: 'low' and 'high'.", undefined],
  ['chat', 'high', "Invalid value: 'text'. Supported values are: 'json' and 'low'.", undefined],
  ['chat', 'ultra', "Invalid value: 'ultra'. Supported values are: 'low' and 'high'.", undefined],
])('%s: an effort of %s, by "%s", becomes %s', (dialect, effort, message, expected) => {
  const failure = failureOfStatus(400, undefined, { error: { message } });
  const bodyWith = (value: unknown) => {
    if (dialect === 'chat') {
      return { messages: [], reasoning_effort: value };
    }
    return dialect === 'messages'
      ? { messages: [], output_config: { effort: value, format: {} } }
      : { input: [], reasoning: { effort: value, summary: 'auto' } };
  };
  const path = { chat: 'reasoning_effort', messages: 'output_config.effort', responses: 'reasoning.effort' };
  expect(amended(dialect, bodyWith(effort), failure)).toEqual(
    expected && { body: bodyWith(expected), paths: [path[dialect]] },
  );
});

test('gives up after five further tries, and tells of what was left out only once the server accepted it', async () => {
  const failure = failureOfStatus(400, undefined, { error: { message: 'seed is not supported' } });
  const sent: object[] = [];
  const told: string[] = [];
  const send = async (body: object) => {
    sent.push(body);
    throw failure;
  };
  const body = { seed: 1 };
  const sending = {
    dialect: 'chat' as const,
    body,
    inTurn: AT_ONCE,
    onLeftOut: (paths: readonly string[]) => void told.push(...paths),
  };
  await expect(sentWithoutRefusedMembers(sending, send)).rejects.toBe(failure);
  expect(sent).toEqual([body, {}]);
  expect(told).toEqual([]);
});

const CACHED = { type: 'ephemeral' };
const MESSAGES = {
  system: [{ type: 'text', text: 's', cache_control: CACHED }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: CACHED }] },
    { role: 'system', content: [], output_config: { effort: 'low' } },
  ],
  tools: [{ name: 'f', strict: true, defer_loading: true, cache_control: CACHED }],
  thinking: { type: 'enabled', budget_tokens: 2_000, display: 'summarized' },
  output_config: { effort: 'low' },
  context_management: { edits: [] },
  temperature: 1,
  top_p: 0.9,
};
const RESPONSES = {
  input: [],
  tools: [{ type: 'function', name: 'f', strict: false }],
  text: { verbosity: 'low', format: { type: 'json_object' } },
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
};

test.each<['messages' | 'responses', string, string[], object]>([
  [
    'messages',
    'context_management: Extra inputs are not permitted',
    ['context_management'],
    { context_management: undefined },
  ],
  [
    'messages',
    'tools.0.custom.defer_loading: Extra inputs are not permitted',
    ['tools[].defer_loading'],
    { tools: [{ name: 'f', strict: true, cache_control: CACHED }] },
  ],
  [
    'messages',
    'tools.3.cache_control: Extra inputs are not permitted',
    ['tools[].cache_control'],
    { tools: [{ name: 'f', strict: true, defer_loading: true }] },
  ],
  [
    'messages',
    'messages.0.content.0.text.cache_control: Extra inputs are not permitted',
    ['messages[].content[].cache_control'],
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }, MESSAGES.messages[1]] },
  ],
  [
    'messages',
    'messages.1.output_config: Extra inputs are not permitted',
    ['messages[].output_config'],
    { messages: [MESSAGES.messages[0]] },
  ],
  [
    'messages',
    'thinking.enabled.display: Extra inputs are not permitted',
    ['thinking.display'],
    { thinking: { type: 'enabled', budget_tokens: 2_000 } },
  ],
  [
    'messages',
    'output_config: Extra inputs are not permitted',
    ['output_config.effort'],
    { output_config: undefined },
  ],
  [
    'messages',
    'This model does not support the effort parameter.',
    ['output_config.effort'],
    { output_config: undefined },
  ],
  ['messages', '`temperature` is deprecated for this model.', ['temperature'], { temperature: undefined }],
  [
    'messages',
    '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    ['top_p'],
    { top_p: undefined },
  ],
  ['messages', 'adaptive thinking is not supported on this model', ['thinking'], { thinking: undefined }],
  [
    'messages',
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    ['thinking.budget_tokens'],
    { thinking: { type: 'adaptive', display: 'summarized' } },
  ],
  [
    'messages',
    '`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive',
    ['context_management'],
    { context_management: undefined },
  ],
  [
    'responses',
    "Unknown parameter: 'text.verbosity'.",
    ['text.verbosity'],
    { text: { format: { type: 'json_object' } } },
  ],
  [
    'responses',
    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    ['reasoning.effort'],
    { reasoning: { summary: 'auto' } },
  ],
  [
    'responses',
    'Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com',
    ['reasoning.summary'],
    { reasoning: { effort: 'low' } },
  ],
  ['responses', 'Encrypted content is not supported with this model.', ['include'], { include: undefined }],
  [
    'responses',
    "Unknown parameter: 'tools[0].strict'.",
    ['tools[].strict'],
    { tools: [{ type: 'function', name: 'f' }] },
  ],
])('%s: %s', (dialect, message, paths, changes) => {
  const body = dialect === 'messages' ? MESSAGES : RESPONSES;
  const fitting = amended(dialect, body, failureOfStatus(400, undefined, { error: { message } }));
  expect(fitting?.paths).toEqual(paths);
  expect(fitting?.body).toEqual({ ...body, ...changes });
});

test('leaves out of an object only what is optional', () => {
  const failure = failureOfStatus(400, undefined, {
    error: { message: 'text: Extra inputs are not permitted' },
  });
  expect(amended('responses', RESPONSES, failure)).toBeUndefined();
});

test('reads a long word in a message in linear time', () => {
  const message = `unknown field ${'a.'.repeat(400)}${'b'.repeat(1_000)}`;
  const failure = failureOfStatus(400, undefined, { error: { message } });
  const begunAt = performance.now();
  expect(amended('messages', MESSAGES, failure)).toBeUndefined();
  expect(performance.now() - begunAt).toBeLessThan(1_000);
});

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    // the name of a property is none of a keyword
    pattern: { type: 'string', description: 'what to find', minLength: 1 },
    limits: { anyOf: [{ type: 'integer', exclusiveMinimum: 0 }, { type: 'null' }] },
  },
  additionalProperties: false,
};
const LOOSENED = {
  type: 'object',
  properties: {
    pattern: SCHEMA.properties.pattern,
    limits: { anyOf: [{ type: 'integer', description: '{exclusiveMinimum: 0}' }, { type: 'null' }] },
  },
};

test.each<['chat' | 'messages' | 'responses', string, (schema: object) => object]>([
  [
    'chat',
    'tools[].function.parameters',
    (parameters) => ({ type: 'function', function: { name: 'f', parameters } }),
  ],
  ['messages', 'tools[].input_schema', (input_schema) => ({ name: 'f', input_schema })],
  ['responses', 'tools[].parameters', (parameters) => ({ type: 'function', name: 'f', parameters })],
])('%s: loosens schemas of tools by the keywords that a server does not know', (dialect, path, tool) => {
  const message = ['exclusiveMinimum', '$schema', 'additionalProperties']
    .map(
      (name) =>
        `Invalid JSON payload received. Unknown name "${name}" at 'tools[0].function_declarations[0].parameters': Cannot find field.`,
    )
    .join('\n');
  const failure = failureOfStatus(400, undefined, { error: { message } });
  const plain = tool({ type: 'object', properties: {} });
  const body = { tools: [tool(SCHEMA), plain] };
  expect(amended(dialect, body, failure)).toEqual({
    body: { tools: [tool(LOOSENED), plain] },
    paths: [path],
  });
  expect(amended(dialect, { tools: [plain] }, failure)).toBeUndefined();
});

test.each([
  ['tools[0].function.parameters contains unsupported field $schema', true],
  ["Unknown keyword 'pattern' in the schema of a tool", false],
  ['the pattern of parameters is not supported', false],
])('%s', (message, isLoosened) => {
  const body = { tools: [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }] };
  const failure = failureOfStatus(400, undefined, { error: { message } });
  expect(amended('chat', body, failure) !== undefined).toBe(isLoosened);
});
