import { scrubbed } from './provider-error.ts';

const MODEL = { id: 'acme/small', routes: [{ provider: 'openai', model: 'gpt-4o-mini' }] };

test.each([
  ["Unsupported parameter: 'foo' for gpt-4o-mini.", "Unsupported parameter: 'foo' for acme/small."],
  ['see https://platform.openai.com/account?x=1 for more', 'see [address] for more'],
  ['connect to 10.0.0.7:8000 failed', 'connect to [address] failed'],
  ['in organization org-AbCdEf123456 on tokens', 'in organization [id] on tokens'],
  ['request 7f3e9a2b-1c4d-4e5f-8a6b-0c1d2e3f4a5b', 'request [id]'],
  ['ask ops@acme.example', 'ask [address]'],
  ['openai says no; openaiish stays', 'the provider says no; openaiish stays'],
  [
    'messages.1.content: Expected `thinking`, but found `tool_use`',
    'messages.1.content: Expected `thinking`, but found `tool_use`',
  ],
])('%s', (said, told) => {
  expect(scrubbed(said, MODEL)).toBe(told);
});

test('returns at most 400 characters', () => {
  expect(scrubbed('ab '.repeat(1_000), MODEL)).toHaveLength(400);
});
