import { expect, test } from '@jest/globals';
import { failureOfStatus } from './classify-failure.ts';
import { sentWithoutRefusedMembers, withoutRefusedMembers } from './refused-members.ts';

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
  return withoutRefusedMembers(BODY, failureOfStatus(status, undefined, { error: { message } }))?.paths;
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
  expect(withoutRefusedMembers({ messages: [], max_tokens: 7 }, failure)).toEqual({
    body: { messages: [], max_completion_tokens: 7 },
    paths: [],
  });
  expect(withoutRefusedMembers({ messages: [], max_completion_tokens: 7 }, failure)).toBeUndefined();
  const quoting = failureOfStatus(400, undefined, {
    error: { message: `user "${message}" is not supported` },
  });
  expect(withoutRefusedMembers({ messages: [], max_tokens: 7 }, quoting)).toBeUndefined();
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
  await expect(sentWithoutRefusedMembers(body, send, (paths) => told.push(...paths))).rejects.toBe(failure);
  expect(sent).toEqual([body, {}]);
  expect(told).toEqual([]);
});
