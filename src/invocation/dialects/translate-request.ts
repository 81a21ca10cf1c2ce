import type { Steps } from '../../lib/steps.ts';
import { type JsonObject, objectOf, without } from '../../providers/json.ts';
import type { Dialect, ProviderDialect, RequestDialect } from '../../providers/provider.types.ts';
import { withoutLockedMembers } from './anthropic-betas.ts';
import { chatRequestToMessages } from './chat-request-to-messages.ts';
import { chatRequestToResponses } from './chat-request-to-responses.ts';
import { claudeRequest } from './claude-request.ts';
import { messagesRequestToChat } from './messages-request-to-chat.ts';
import type { ModelRules } from './model-rules.ts';
import {
  chatToolChoice,
  messagesToolChoice,
  readChatToolPolicy,
  readMessagesToolPolicy,
} from './tool-choices.ts';
import { withToolIds } from './tool-ids.ts';
import { untranslatable } from './untranslatable.ts';

const CHAT_WORDS = new Set(['auto', 'none', 'required']);

export interface RequestTranslation {
  readonly from: RequestDialect;
  readonly to: ProviderDialect;
  /** The request as it came, where it came in Responses. */
  readonly native?: JsonObject | undefined;
  readonly maxOutputTokens: number;
  readonly reasoning: boolean;
  readonly rules: ModelRules;
  /** The betas of a messages request that are passed on. */
  readonly betas: readonly string[];
}

/** A request in the provider's dialect and in the form its model accepts; where both speak the same it is nearly as it came. */
export function* translateRequest(body: JsonObject, translation: RequestTranslation): Steps<JsonObject> {
  const { from, to, maxOutputTokens, reasoning, rules } = translation;
  if (from === 'embeddings' || from === 'rerank') {
    if (to !== 'chat') {
      throw untranslatable(from);
    }
    return body;
  }
  if (to === 'messages') {
    const translated =
      from === 'messages'
        ? normalizeRequest(withoutLockedMembers(body, translation.betas), to)
        : yield* chatRequestToMessages(body, maxOutputTokens, rules);
    return yield* claudeRequest(translated, rules);
  }
  if (to === 'responses' && translation.native) {
    return withReasoning(without(translation.native, ...rules.drop), translation);
  }
  if (to === 'responses' && from === 'chat') {
    const chat = yield* fitting(body, rules);
    return withReasoning(yield* chatRequestToResponses(chat), translation);
  }
  const translated =
    from === 'chat'
      ? normalizeRequest(body, 'chat')
      : yield* messagesRequestToChat(body, {
          maxOutputTokens,
          reasoning,
          wantsThoughts: rules.wantsThoughts,
          stopsMax: rules.stopsMax,
        });
  const chat = yield* fitting(translated, rules);
  return to === 'chat' ? chat : withReasoning(yield* chatRequestToResponses(chat), translation);
}

/** A chat request without what its model refuses, with ids that it takes. */
function* fitting(body: JsonObject, rules: ModelRules): Steps<JsonObject> {
  const kept = rules.drop.length === 0 ? body : without(body, ...rules.drop);
  return rules.toolIds === 'any'
    ? kept
    : { ...kept, messages: yield* withToolIds(kept.messages, rules.toolIds) };
}

/** Nothing is kept at providers, so a model that reasons has to give its reasoning along; others refuse to be asked. */
function withReasoning(body: JsonObject, { reasoning, rules }: RequestTranslation): JsonObject {
  return reasoning || rules.reasons || body.reasoning !== undefined
    ? { ...body, include: ['reasoning.encrypted_content'] }
    : body;
}

/**
 * A request for a provider of its own dialect: as it came, except for short forms that we allow and providers do not,
 * namely a `tool_choice` of one word or a tool's name, an empty list of tools, and OpenRouter's word for effort.
 */
export function normalizeRequest(body: JsonObject, dialect: Dialect): JsonObject {
  return normalizeTools(dialect === 'chat' ? normalizeEffort(body) : body, dialect);
}

function normalizeEffort(body: JsonObject): JsonObject {
  const { effort } = objectOf(body.reasoning);
  return typeof effort === 'string' ? { reasoning_effort: effort, ...without(body, 'reasoning') } : body;
}

function normalizeTools(body: JsonObject, dialect: Dialect): JsonObject {
  if (Array.isArray(body.tools) && body.tools.length === 0) {
    return without(body, 'tools', 'tool_choice', 'parallel_tool_calls');
  }
  if (typeof body.tool_choice !== 'string') {
    return body;
  }
  if (dialect === 'messages') {
    return { ...body, tool_choice: messagesToolChoice(readMessagesToolPolicy(body)) };
  }
  return CHAT_WORDS.has(body.tool_choice) ? body : { ...body, ...chatToolChoice(readChatToolPolicy(body)) };
}
