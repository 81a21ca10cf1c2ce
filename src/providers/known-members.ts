import type { OpenAiProviderSettings } from './provider-settings.ts';

/** Members of a chat request, besides the cap and the model, that both servers below know. */
const COMMON = [
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'stop',
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'logprobs',
  'top_logprobs',
  'reasoning_effort',
  'prompt_cache_key',
];

const MISTRAL = /(?:^|\.)mistral\.ai$/;

/**
 * Servers that reject every member that they do not know: OpenAI ("Unrecognized request argument supplied"), Mistral ("Extra inputs are not
 * permitted"). Sources: platform.openai.com/docs/api-reference/chat/create; `ChatCompletionRequest` of Mistral's Python SDK 3.7.
 */
const BY_HOST: readonly (readonly [RegExp, readonly string[]])[] = [
  [
    /(?:^|\.)api\.openai\.com$/,
    [...COMMON, 'logit_bias', 'modalities', 'safety_identifier', 'seed', 'user', 'verbosity'],
  ],
  [MISTRAL, [...COMMON, 'prompt_mode', 'random_seed', 'repetition_penalty', 'safe_prompt', 'top_k']],
];

/**
 * Returns the only members that the provider's server accepts in a chat request, and those that the operator says it does. Undefined if it
 * ignores the others.
 */
export function knownMembersOf({
  base_url,
  pass_through: more,
}: Pick<OpenAiProviderSettings, 'base_url' | 'pass_through'>): readonly string[] | undefined {
  const { hostname } = new URL(base_url);
  const known = BY_HOST.find(([host]) => host.test(hostname))?.[1];
  return known && [...known, ...more];
}

/** Returns whether the server is to be asked for the usage of a stream. Mistral's tells it unasked, and has rejected the question. */
export function asksForUsage({
  base_url,
  stream_usage: given,
}: Pick<OpenAiProviderSettings, 'base_url' | 'stream_usage'>): boolean {
  return given ?? !MISTRAL.test(new URL(base_url).hostname);
}
