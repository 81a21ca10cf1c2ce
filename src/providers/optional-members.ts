import { merged } from '../lib/merged.ts';
import { REASONING_MEMBERS } from './chat-message.ts';
import { type JsonObject, objectsOf } from './json.ts';
import { withoutPaths } from './member-paths.ts';
import type { ProviderDialect } from './provider.types.ts';

/** The question for the usage of a stream, which we add. */
export const STREAM_OPTIONS = 'stream_options';

/** Settings of single turns, in Anthropic's protocol. */
const TURN_SETTINGS = 'messages[].output_config';

/**
 * Paths of members that an answer is as good without, or nearly. Not among them: what the caller may rely on, such as tools, the format and
 * stop sequences, and what caps the output and so its price.
 */
export const OPTIONAL_MEMBERS = {
  chat: [
    'temperature',
    'top_p',
    'top_k',
    'min_p',
    'frequency_penalty',
    'presence_penalty',
    'repetition_penalty',
    'seed',
    'user',
    'safety_identifier',
    'prompt_cache_key',
    'parallel_tool_calls',
    'verbosity',
    'reasoning',
    'reasoning_effort',
    'thinking',
    'tools[].function.strict',
    ...([...REASONING_MEMBERS, 'thinking_blocks'] as const).map((name) => `messages[].${name}` as const),
  ],
  messages: [
    'temperature',
    'top_p',
    'top_k',
    'metadata',
    'thinking',
    'thinking.display',
    'thinking.block_binding',
    'output_config.effort',
    'context_management',
    'cache_control',
    'system[].cache_control',
    'tools[].cache_control',
    'tools[].strict',
    'tools[].defer_loading',
    'tools[].input_examples',
    TURN_SETTINGS,
    'messages[].content[].cache_control',
    'messages[].content[].content[].cache_control',
  ],
  responses: [
    'temperature',
    'top_p',
    'user',
    'safety_identifier',
    'prompt_cache_key',
    'parallel_tool_calls',
    'text.verbosity',
    'reasoning',
    'reasoning.effort',
    'reasoning.summary',
    'reasoning.generate_summary',
    'reasoning.context',
    'tools[].strict',
  ],
} as const satisfies Readonly<Record<ProviderDialect, readonly string[]>>;

/** Members that we add, or whose purpose we serve ourselves, so that nobody misses them: usage, the form of vectors, sealed reasoning. */
export const OUR_MEMBERS: Readonly<Record<ProviderDialect, readonly string[]>> = {
  chat: [STREAM_OPTIONS, 'encoding_format'],
  messages: [],
  responses: ['include'],
};

/** Removes optional members from a request. Turns that only held one of them are removed, too. */
export function withoutMembers(body: JsonObject, paths: readonly string[]): JsonObject {
  const kept = withoutPaths(body, paths);
  return paths.includes(TURN_SETTINGS)
    ? merged(kept, { messages: objectsOf(kept.messages).filter(holdsContent) })
    : kept;
}

function holdsContent({ content }: JsonObject): boolean {
  return !Array.isArray(content) || content.length > 0;
}
