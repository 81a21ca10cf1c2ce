import { type JsonObject, objectOf, objectsOf, without } from '../../providers/json.ts';
import type { Dialect, RequestDialect } from '../../providers/provider.types.ts';
import { withoutLockedMembers } from './anthropic-betas.ts';
import { chatRequestToMessages, unsaidThinking } from './chat-request-to-messages.ts';
import { claudeRequest } from './claude-request.ts';
import { messagesRequestToChat } from './messages-request-to-chat.ts';
import { type ModelRules, refusedMembers } from './model-rules.ts';
import { isStrictSchema } from './strict-schema.ts';
import { tidyRequest } from './tidy-request.ts';
import { withToolIds } from './tool-ids.ts';
import { untranslatable } from './untranslatable.ts';

export interface RequestTranslation {
  readonly from: RequestDialect;
  readonly to: Dialect;
  readonly maxOutputTokens: number;
  readonly reasoning: boolean;
  readonly rules: ModelRules;
  /** The betas of a messages request that are passed on. */
  readonly betas: readonly string[];
}

/** A request in the provider's dialect and in the form its model accepts; where both speak the same it is nearly as it came. */
export function translateRequest(body: JsonObject, translation: RequestTranslation): JsonObject {
  const { from, to, maxOutputTokens, reasoning, rules } = translation;
  if (from === 'embeddings') {
    if (to === 'messages') {
      throw untranslatable('embeddings');
    }
    return body;
  }
  if (to === 'messages') {
    const translated =
      from === 'messages'
        ? tidyRequest(withoutLockedMembers(body, translation.betas), to)
        : chatRequestToMessages(body, maxOutputTokens, rules);
    return claudeRequest(translated, rules);
  }
  const translated =
    from === 'chat'
      ? tidyRequest(body, to)
      : messagesRequestToChat(body, { maxOutputTokens, reasoning, wantsThoughts: rules.wantsThoughts });
  const kept = rules.drop.length === 0 ? translated : without(translated, ...rules.drop);
  return rules.toolIds === 'any' ? kept : { ...kept, messages: withToolIds(kept.messages, rules.toolIds) };
}

/** What a chat request can say in messages. The rest only tunes the answer and is left out. */
const SAID_IN_MESSAGES = new Set([
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'stop',
  'temperature',
  'top_p',
  'top_k',
  'reasoning_effort',
  'reasoning',
  'user',
  'modalities',
  // says nothing more than that none are wanted
  'logprobs',
  'include_reasoning',
]);

/** What chat has no word for and only tunes the answer. */
const NO_WORD_IN_CHAT = new Set(['top_k', 'cache_control', 'context_management']);

/** What a messages request says of thinking to a model that cannot. */
function unsaidReasoning(body: JsonObject, reasoning: boolean): string[] {
  if (reasoning) {
    return [];
  }
  const { type = 'disabled' } = objectOf(body.thinking);
  const effort = objectOf(body.output_config).effort !== undefined;
  return [...(type === 'disabled' ? [] : ['thinking']), ...(effort ? ['output_config.effort'] : [])];
}

/** Whether a tool is strict in Anthropic's sense only. */
function looselyStrict(tools: unknown): boolean {
  return objectsOf(tools).some((tool) => tool.strict === true && !isStrictSchema(tool.input_schema));
}

/** Members of a request that the translation leaves out, to be told to the caller. */
export function unsaidMembers(body: JsonObject, translation: RequestTranslation): string[] {
  const { from, to, maxOutputTokens, reasoning, rules } = translation;
  const names = Object.keys(body);
  const refused = refusedMembers(body, rules);
  const unsaid = names.filter((name) => refused.includes(name));
  if (from === 'chat' && to === 'messages') {
    unsaid.push(...names.filter((name) => !SAID_IN_MESSAGES.has(name)));
    unsaid.push(...unsaidThinking(body, maxOutputTokens, rules));
  }
  if (from === 'messages' && to === 'chat') {
    unsaid.push(...names.filter((name) => NO_WORD_IN_CHAT.has(name)));
    unsaid.push(...(looselyStrict(body.tools) ? ['tools[].strict'] : []));
    unsaid.push(...unsaidReasoning(body, reasoning));
  }
  if (from === 'messages' && to === 'messages') {
    const open = withoutLockedMembers(body, translation.betas);
    unsaid.push(...names.filter((name) => !Object.hasOwn(open, name)));
  }
  return [...new Set(unsaid)];
}
