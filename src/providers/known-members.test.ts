import { expect, test } from '@jest/globals';
import { asksForUsage, knownMembersOf } from './known-members.ts';

test.each([
  ['https://api.openai.com/v1', 'logit_bias'],
  ['https://eu.api.openai.com/v1', 'verbosity'],
  ['https://api.mistral.ai/v1', 'random_seed'],
  ['https://api.groq.com/openai/v1', 'reasoning_format'],
  ['https://api.cerebras.ai/v1', 'logit_bias'],
  ['https://example.openai.azure.com/openai/v1', undefined],
  ['https://notmistral.ai/v1', undefined],
  ['https://api.openai.com.example.org/v1', undefined],
])('%s accepts nothing that is not on its list, which holds %s', (base_url, name) => {
  const known = knownMembersOf({ base_url, pass_through: [] })?.chat;
  expect(known === undefined).toBe(name === undefined);
  expect(known?.includes(name ?? '')).toBe(name && true);
});

test('the operator knows more members', () => {
  const known = knownMembersOf({ base_url: 'https://api.mistral.ai/v1', pass_through: ['user'] });
  expect(known?.chat).toEqual(expect.arrayContaining(['user', 'random_seed']));
  expect(known?.embeddings).toEqual(expect.arrayContaining(['user', 'output_dimension']));
});

test('Mistral is not asked for the usage of a stream, unless the operator says so', () => {
  const mistral = 'https://api.mistral.ai/v1';
  expect(asksForUsage({ base_url: mistral, stream_usage: undefined })).toBe(false);
  expect(asksForUsage({ base_url: mistral, stream_usage: true })).toBe(true);
  expect(asksForUsage({ base_url: 'http://127.0.0.1:8000', stream_usage: undefined })).toBe(true);
  expect(asksForUsage({ base_url: 'http://127.0.0.1:8000', stream_usage: false })).toBe(false);
});
