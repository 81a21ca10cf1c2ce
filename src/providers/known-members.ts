import type { OpenAiProviderSettings } from './provider-settings.ts';

/** Members of a chat request, besides the cap and the model, that all servers below know. */
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
  'reasoning_effort',
];

const PROBABILITIES = ['logprobs', 'top_logprobs'];

const MISTRAL = /(?:^|\.)mistral\.ai$/;

/** Members of an embeddings request, besides the model. */
const EMBEDDINGS = ['input', 'dimensions', 'encoding_format', 'user'];

/** The only members of requests that a server accepts. */
export interface KnownMembers {
  readonly server: 'openai' | 'mistral' | 'groq' | 'cerebras';
  readonly chat: readonly string[];
  readonly embeddings: readonly string[];
}

/**
 * Servers that reject every member that they do not know: OpenAI ("Unrecognized request argument supplied"), Mistral ("Extra inputs are not
 * permitted"), Groq and Cerebras ("property … is unsupported"). Sources: platform.openai.com/docs/api-reference/chat/create;
 * console.groq.com/docs/openai; the requests in the Python SDKs of Mistral (3.7), Groq (1.7) and Cerebras (1.91).
 */
const BY_HOST: readonly (KnownMembers & { readonly host: RegExp })[] = [
  {
    server: 'openai',
    host: /(?:^|\.)api\.openai\.com$/,
    chat: [
      ...COMMON,
      ...PROBABILITIES,
      'logit_bias',
      'modalities',
      'prompt_cache_key',
      'safety_identifier',
      'seed',
      'user',
      'verbosity',
    ],
    embeddings: EMBEDDINGS,
  },
  {
    server: 'mistral',
    host: MISTRAL,
    chat: [
      ...COMMON,
      ...PROBABILITIES,
      'prompt_cache_key',
      'prompt_mode',
      'random_seed',
      'repetition_penalty',
      'safe_prompt',
      'top_k',
    ],
    embeddings: ['input', 'output_dimension', 'output_dtype'],
  },
  {
    server: 'groq',
    host: /(?:^|\.)groq\.com$/,
    chat: [...COMMON, 'reasoning_format', 'seed', 'user'],
    embeddings: EMBEDDINGS,
  },
  {
    server: 'cerebras',
    host: /(?:^|\.)cerebras\.ai$/,
    chat: [...COMMON, ...PROBABILITIES, 'logit_bias', 'prompt_cache_key', 'reasoning_format', 'seed', 'user'],
    embeddings: EMBEDDINGS,
  },
];

/**
 * Returns the only members that the provider's server accepts in a request, and those that the operator says it does. Undefined if it
 * ignores the others.
 */
export function knownMembersOf({
  base_url,
  pass_through: more,
}: Pick<OpenAiProviderSettings, 'base_url' | 'pass_through'>): KnownMembers | undefined {
  const { hostname } = new URL(base_url);
  const known = BY_HOST.find(({ host }) => host.test(hostname));
  if (!known) {
    return undefined;
  }
  const { server, chat, embeddings } = known;
  return { server, chat: [...chat, ...more], embeddings: [...embeddings, ...more] };
}

/** Returns whether the server is to be asked for the usage of a stream. Mistral's tells it unasked, and has rejected the question. */
export function asksForUsage({
  base_url,
  stream_usage: given,
}: Pick<OpenAiProviderSettings, 'base_url' | 'stream_usage'>): boolean {
  return given ?? !MISTRAL.test(new URL(base_url).hostname);
}
